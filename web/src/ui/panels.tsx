// Below the stage: requests, items, queries, conditions.
import { useSignal } from '@preact/signals';
import type { App } from '../app';
import { ConditionsPanel } from './conditions';
import { ExpressionsPanel, showExpression } from './expressions';
import { ItemsPanel } from './items';
import { QueryPanel } from './query';
import { RequestsPanel } from './requests';
import { Tabs } from './tabs';

const TABS = ['Requests', 'Items', 'Query', 'Expressions', 'Conditions'] as const;

export function Panels({ app }: { app: App }) {
  const tab = useSignal<(typeof TABS)[number]>(app.isTab ? 'Requests' : 'Items');
  const faults = app.faults.value.length;
  return (
    <section class="pane panels" aria-label="Details">
      <Tabs label="Details" id="details" names={TABS} selected={tab} badges={faults > 0 ? { Conditions: String(faults) } : {}} />
      <div class="tab-body" role="tabpanel" id="details-panel" aria-label={tab.value}>
        {tab.value === 'Requests' && <RequestsPanel app={app} onExpression={(sent) => (showExpression(app, sent), (tab.value = 'Expressions'))} />}
        {tab.value === 'Items' && <ItemsPanel app={app} />}
        {tab.value === 'Query' && <QueryPanel app={app} onShow={() => (tab.value = 'Requests')} />}
        {tab.value === 'Expressions' && <ExpressionsPanel app={app} />}
        {tab.value === 'Conditions' && <ConditionsPanel app={app} />}
      </div>
    </section>
  );
}
