// The request log, and what each request did.
import { signal, useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { PENDING, type App } from '../app';
import { bodyOf, explain, expressionsOf, type Remark, type Sent } from '../explain';
import type { ExplainedExpression, Explanation, SeenRequest } from '../transport/control';
import type { Account } from '../transport/dynamodb';
import { keyText } from '../value';
import { count, seconds, timeOfDay, units } from '../words';
import { showRequest } from './code-pane';
import { Fault, Tree } from './expression-tree';

/** How many rows are shown: the latest. */
const ROWS = 200;
const ROW = 30;

interface Body {
  body: string;
  bytes: number;
  truncated: boolean;
}

export interface FullRequest extends SeenRequest {
  request?: Body;
  response?: Body;
}

const only = { failed: false, text: '' };
const costly = signal(false);

const consumed = ({ readUnits, writeUnits }: SeenRequest) => readUnits + writeUnits;

export function RequestsPanel({ app, onExpression }: { app: App; onExpression: (sent: Sent, account: Account) => void }) {
  const { opened: open } = app;
  const failed = useSignal(only.failed);
  const text = useSignal(only.text);
  const wanted = (request: SeenRequest) =>
    (!failed.value || request.status >= 400) &&
    (!text.value || `${request.operation} ${request.error ?? ''} ${request.tables.join(' ')} ${request.touches.map(({ key }) => keyText(key)).join(' ')}`.toLowerCase().includes(text.value.toLowerCase()));
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
            // Moved by a transform, so that a new row shifts no layout.
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

const delivery = ({ delivery: { kind } }: SeenRequest) => (kind === 'whole' ? 'OK' : kind === 'lost' ? 'answer lost' : kind);

/** Of a read that saw an older state: how old. */
function stale(app: App, { number }: SeenRequest): string | undefined {
  const age = app.feed.ages.value.get(number);
  return age === undefined ? undefined : `stale, ${seconds(age)} old`;
}

function what({ touches, tables }: SeenRequest): string {
  const [first] = touches;
  if (!first) return tables.join(', ');
  const rest = touches.length > 1 ? ` and ${touches.length - 1} more` : '';
  return `${keyText(first.key) || first.table}${first.index ? ` in ${first.index}` : ''}${rest}`;
}

function cost({ readUnits, writeUnits }: SeenRequest): string {
  const parts = [readUnits > 0 && `${units(readUnits)} RCU`, writeUnits > 0 && `${units(writeUnits)} WCU`].filter(Boolean);
  return parts.join(' ');
}

interface Known {
  request: FullRequest;
  explanation?: Explanation | undefined;
  expressions: { sent: Sent; explained: ExplainedExpression }[];
}

/** What the engine knows of a request. */
async function know({ control }: App, seen: SeenRequest): Promise<Known> {
  const request = await control.get<FullRequest>(`/requests/${seen.number}`).catch((): FullRequest => seen);
  const explanation = await control.explain(seen.number).catch(() => undefined);
  const expressions = [];
  for (const sent of expressionsOf(bodyOf(request))) {
    const explained = await control.of(seen.caller).explainExpression(sent.expression, sent.table, sent.index, 1).catch(() => undefined);
    if (explained) expressions.push({ sent, explained });
  }
  return { request, explanation, expressions };
}

function Details({ app, request, onClose, onExpression }: { app: App; request: SeenRequest; onClose: () => void; onExpression: (sent: Sent, account: Account) => void }) {
  const [known, setKnown] = useState<Known>();
  useEffect(() => {
    let gone = false;
    void know(app, request).then((answer) => !gone && setKnown(answer));
    return () => {
      gone = true;
    };
  }, []);
  const filter = known?.expressions.find(({ sent }) => sent.expression.kind === 'FilterExpression')?.explained.nodes ?? [];
  const remarks = known ? explain(known.request, known.explanation, filter, app.tables.list.value, app.conditions.value, app.feed.ages.value.get(request.number), app.feed.conflicts.value) : [];
  return (
    <div class="details" role="region" aria-label={`Request ${request.number}`}>
      <header>
        <h3>
          {request.operation} <small>{isRead(request) ? request.touches[0]?.table : count(request.touches.length, 'key')}</small>
        </h3>
        <button type="button" class="small" onClick={onClose}>Close</button>
      </header>
      <Proportion request={request} />
      <ul class="remarks">
        {remarks.map((remark) => <RemarkLine key={remark.text} remark={remark} />)}
      </ul>
      {known?.expressions.map(({ sent, explained }, at) => (
        <details key={at} open={explained.error !== undefined}>
          <summary>{sent.expression.kind}</summary>
          <pre>{sent.expression.text}</pre>
          <Fault expression={sent.expression.text} explained={explained} />
          <Tree expression={sent.expression.text} nodes={explained.nodes} />
          <button type="button" class="small" onClick={() => onExpression(sent, request.caller)}>Evaluate for items</button>
        </details>
      ))}
      <Bodies full={known?.request} />
    </div>
  );
}

/** How much of what was read was returned. */
const isRead = ({ touches }: SeenRequest) => touches.some(({ act }) => act === 'Query' || act === 'Scan');

function Proportion({ request }: { request: SeenRequest }) {
  const { scanned, returned, readUnits } = request;
  if (request.status !== 200 || scanned === 0 || !isRead(request)) return null;
  const said = `${returned} of ${count(scanned, 'item')} read were returned`;
  return (
    <div class="proportion">
      <span class="gauge" role="img" aria-label={said}><span style={{ transform: `scaleX(${Math.max(returned / scanned, 0.004)})` }} /></span>
      <small><b>{returned}</b> returned of <b>{scanned}</b> read and paid for: {units(readUnits)} read units</small>
    </div>
  );
}

function tryRequest({ operation, body }: { operation: string; body: string }): void {
  showRequest(operation, body);
  document.getElementById('send-Request')?.click();
}

function RemarkLine({ remark }: { remark: Remark }) {
  return (
    <li data-kind={remark.kind}>
      {remark.text}
      {remark.better && <pre>{remark.better.body}</pre>}
      {remark.better && <button type="button" class="small" onClick={() => remark.better && tryRequest(remark.better)}>Try it</button>}
    </li>
  );
}

function Bodies({ full }: { full: FullRequest | undefined }) {
  const part = (title: string, body: Body | undefined) =>
    body && (
      <details open={title === 'Request'}>
        <summary>{title} <small>{count(body.bytes, 'byte')}</small></summary>
        <pre tabIndex={0} aria-label={`${title} body`}>{pretty(body.body)}</pre>
      </details>
    );
  return (
    <>
      {part('Request', full?.request)}
      {part('Response', full?.response)}
    </>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}
