// The panels below the stage: requests, items, queries, conditions.
import { PANELS, type App } from '../app';
import type { Sent } from '../explain';
import type { Account } from '../transport/dynamodb';
import { lazy } from './lazy';
import { RequestsPanel } from './requests';
import { Tabs } from './tabs';

const ItemsPanel = lazy(() => import('./items').then((module) => module.ItemsPanel));
const TablesPanel = lazy(() => import('./tables').then((module) => module.TablesPanel));
const QueryPanel = lazy(() => import('./query').then((module) => module.QueryPanel));
const ExpressionsPanel = lazy(() => import('./expressions').then((module) => module.ExpressionsPanel));
const ConditionsPanel = lazy(() => import('./conditions').then((module) => module.ConditionsPanel));

export function Panels({ app }: { app: App }) {
  const tab = app.panel;
  const explain = (sent: Sent, account: Account) => {
    void import('./expressions').then(({ showExpression }) => {
      showExpression(app, sent, account);
      tab.value = 'Expressions';
    });
  };
  const faults = app.faults.value.length;
  return (
    <section class="pane panels" aria-label="Details">
      <Tabs label="Details" id="details" names={PANELS} selected={tab} badges={faults > 0 ? { Conditions: String(faults) } : {}} />
      <div class="tab-body" role="tabpanel" id="details-panel" aria-label={tab.value}>
        {tab.value === 'Requests' && <RequestsPanel app={app} onExpression={explain} />}
        {tab.value === 'Tables' && <TablesPanel app={app} onItems={() => (tab.value = 'Items')} />}
        {tab.value === 'Items' && <ItemsPanel app={app} />}
        {tab.value === 'Query' && <QueryPanel app={app} onShow={() => (tab.value = 'Requests')} />}
        {tab.value === 'Expressions' && <ExpressionsPanel app={app} />}
        {tab.value === 'Conditions' && <ConditionsPanel app={app} />}
      </div>
    </section>
  );
}
