// The request log, and what each request did.
import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { App } from '../app';
import { explain, type Remark } from '../explain';
import type { SeenRequest } from '../transport/control';
import { keyText } from '../value';
import { count, seconds, timeOfDay, units } from '../words';

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

export function RequestsPanel({ app }: { app: App }) {
  const open = useSignal<number | undefined>(undefined);
  const failed = useSignal(only.failed);
  const text = useSignal(only.text);
  const wanted = (request: SeenRequest) =>
    (!failed.value || request.status >= 400) &&
    (!text.value || `${request.operation} ${request.error ?? ''} ${request.tables.join(' ')} ${request.touches.map(({ key }) => keyText(key)).join(' ')}`.toLowerCase().includes(text.value.toLowerCase()));
  const all = app.feed.requests.value;
  const shown = all.filter(wanted).slice(-ROWS).reverse();
  const chosen = all.find(({ number }) => number === open.value);
  return (
    <div class="split" data-open={chosen !== undefined}>
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
        </div>
        <ol class="requests" tabIndex={0} aria-label="Requests, the latest first">
          {shown.length === 0 && <li class="quiet empty">No requests yet.</li>}
          {shown.map((request, at) => (
            // Moved by a transform, so that a new row shifts no layout.
            <li key={request.number} style={{ transform: `translateY(${at * ROW}px)` }}>
              <button type="button" data-number={request.number} aria-expanded={open.value === request.number} data-failed={request.status >= 400} onClick={() => (open.value = open.value === request.number ? undefined : request.number)}>
                <time>{timeOfDay(Date.parse(request.at))}</time>
                <b>{request.operation}</b>
                <span class="what">{what(request)}</span>
                <span class="cost">{cost(request)}</span>
                <span class="status-code">{request.error ? request.error.replace('Exception', '') : stale(app, request) ?? delivery(request)}</span>
              </button>
            </li>
          ))}
        </ol>
      </div>
      {chosen && <Details app={app} request={chosen} onClose={() => (open.value = undefined)} />}
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

function Details({ app, request, onClose }: { app: App; request: SeenRequest; onClose: () => void }) {
  const [full, setFull] = useState<FullRequest>();
  useEffect(() => {
    let gone = false;
    app.control.get<FullRequest>(`/requests/${request.number}`).then(
      (answer) => !gone && setFull(answer),
      () => !gone && setFull(request),
    );
    return () => {
      gone = true;
    };
  }, [request.number]);
  const remarks = explain(full ?? request, app.tables.list.value, app.conditions.value, app.feed.ages.value.get(request.number));
  return (
    <div class="details" role="region" aria-label={`Request ${request.number}`}>
      <header>
        <h3>
          {request.operation} <small>{count(request.touches.length, 'key or range', 'keys or ranges')}</small>
        </h3>
        <button type="button" class="small" onClick={onClose}>Close</button>
      </header>
      <ul class="remarks">
        {remarks.map((remark) => <RemarkLine key={remark.text} remark={remark} />)}
      </ul>
      <Bodies full={full?.number === request.number ? full : undefined} />
    </div>
  );
}

function RemarkLine({ remark }: { remark: Remark }) {
  return (
    <li data-kind={remark.kind}>
      {remark.text}
      {remark.code && <pre>{remark.code}</pre>}
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
