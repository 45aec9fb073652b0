// The request log, and the effects of each request.
import { signal, useSignal } from '@preact/signals';
import { PENDING, type App } from '../app';
import type { Sent } from '../explain';
import type { RecordedRequest } from '../transport/control';
import type { Account } from '../transport/dynamodb';
import { keyText } from '../value';
import { seconds, timeOfDay, units } from '../words';
import { lazy } from './lazy';

const Details = lazy(() => import('./request-details').then((module) => module.Details));

/** How many rows are shown: the latest. */
const ROWS = 200;
const ROW = 30;

const only = { failed: false, text: '' };
const costly = signal(false);

const consumed = ({ readUnits, writeUnits }: RecordedRequest) => readUnits + writeUnits;

export function RequestsPanel({ app, onExpression }: { app: App; onExpression: (sent: Sent, account: Account) => void }) {
  const { opened: open } = app;
  const failed = useSignal(only.failed);
  const text = useSignal(only.text);
  const wanted = (request: RecordedRequest) =>
    (!failed.value || request.status >= 400) &&
    (!text.value || `${request.operation} ${request.error ?? ''} ${request.tables.join(' ')} ${request.accesses.map(({ key }) => keyText(key)).join(' ')}`.toLowerCase().includes(text.value.toLowerCase()));
  const all = app.feed.requests.value;
  const found = all.filter(wanted).reverse();
  if (costly.value) found.sort((one, other) => consumed(other) - consumed(one));
  const shown = found.slice(0, ROWS);
  const chosen = all.find(({ number }) => number === open.value);
  return (
    <div class="split" data-open={chosen !== undefined || open.value === PENDING}>
      <div class="list-side">
        <div class="tools slim">
          <input
            type="search"
            placeholder="Filter by operation, key or error"
            aria-label="Filter requests"
            value={text.value}
            onInput={(event) => (text.value = only.text = event.currentTarget.value)}
          />
          <label class="check">
            <input type="checkbox" checked={failed.value} onChange={(event) => (failed.value = only.failed = event.currentTarget.checked)} /> refused only
          </label>
          <label class="check">
            <input type="checkbox" checked={costly.value} onChange={(event) => (costly.value = event.currentTarget.checked)} /> costliest first
          </label>
        </div>
        <ol class="requests" tabIndex={0} aria-label={`Requests, the ${costly.value ? 'costliest' : 'latest'} first`}>
          {shown.length === 0 && <li class="quiet empty">No requests yet.</li>}
          {shown.map((request, at) => (
            // Rows are moved by a transform, so that a new row shifts no layout.
            <li key={request.number} style={{ transform: `translateY(${at * ROW}px)` }}>
              <button type="button" data-number={request.number} aria-expanded={open.value === request.number} data-failed={request.status >= 400} onClick={() => (open.value = open.value === request.number ? undefined : request.number)}>
                <time>{timeOfDay(Date.parse(request.at))}</time>
                <b>{request.operation}</b>
                <span class="what">{app.tables.qualified.value && <i>{request.caller.region} </i>}{what(request)}</span>
                <span class="cost">{cost(request)}</span>
                <span class="status-code">{request.error ? request.error.replace('Exception', '') : stale(app, request) ?? delivery(request)}</span>
              </button>
            </li>
          ))}
        </ol>
      </div>
      {open.value === PENDING && <div class="details"><p class="quiet">The request appears here when it has been sent.</p></div>}
      {chosen && <Details key={chosen.number} app={app} request={chosen} onClose={() => (open.value = undefined)} onExpression={onExpression} />}
    </div>
  );
}

const delivery = ({ delivery: { kind } }: RecordedRequest) => (kind === 'whole' ? 'OK' : kind === 'lost' ? 'answer lost' : kind);

/** Of a read that saw an older state: how old. */
function stale(app: App, { number }: RecordedRequest): string | undefined {
  const age = app.feed.ages.value.get(number);
  return age === undefined ? undefined : `stale, ${seconds(age)} old`;
}

function what({ accesses, tables }: RecordedRequest): string {
  const [first] = accesses;
  if (!first) return tables.join(', ');
  const rest = accesses.length > 1 ? ` and ${accesses.length - 1} more` : '';
  return `${keyText(first.key) || first.table}${first.index ? ` in ${first.index}` : ''}${rest}`;
}

function cost({ readUnits, writeUnits }: RecordedRequest): string {
  const parts = [readUnits > 0 && `${units(readUnits)} RCU`, writeUnits > 0 && `${units(writeUnits)} WCU`].filter(Boolean);
  return parts.join(' ');
}
