// A request in detail: what it did, why, at which cost, and its bodies.
import { useEffect, useState } from 'preact/hooks';
import type { App } from '../app';
import { bodyOf, explain, expressionsOf, type Knowledge, type Remark, type Sent } from '../explain';
import type { ExplainedExpression, Explanation, ExpressionKind, RecordedRequest } from '../transport/control';
import type { Account } from '../transport/dynamodb';
import { count, units } from '../words';
import { showRequest } from './code-pane';
import { Fault, Tree } from './expression-tree';

interface Known {
  request: RecordedRequest;
  explanation?: Explanation | undefined;
  expressions: { sent: Sent; explained: ExplainedExpression }[];
}

/** The details of a recorded request. */
async function know({ control }: App, seen: RecordedRequest): Promise<Known> {
  const request = await control.request(seen.number).catch(() => seen);
  const explanation = await control.explain(seen.number).catch(() => undefined);
  const expressions = [];
  for (const sent of expressionsOf(bodyOf(request))) {
    const explained = await control.of(seen.caller).explainExpression(sent.expression, sent.table, sent.index).catch(() => undefined);
    if (explained) expressions.push({ sent, explained });
  }
  return { request, explanation, expressions };
}

export function Details({ app, request, onClose, onExpression }: { app: App; request: RecordedRequest; onClose: () => void; onExpression: (sent: Sent, account: Account) => void }) {
  const [known, setKnown] = useState<Known>();
  useEffect(() => {
    let gone = false;
    void know(app, request).then((answer) => !gone && setKnown(answer));
    return () => {
      gone = true;
    };
  }, []);
  const ofKind = (kind: ExpressionKind) => known?.expressions.find(({ sent }) => sent.expression.kind === kind)?.explained;
  const knowledge: Knowledge = {
    explanation: known?.explanation,
    filter: ofKind('FilterExpression'),
    condition: ofKind('KeyConditionExpression'),
    tables: app.tables.list.value.filter(({ accessKey, region }) => accessKey === undefined || (accessKey === request.caller.accessKey && region === request.caller.region)),
    conditions: app.conditions.value,
    age: app.feed.ages.value.get(request.number),
    conflicts: app.feed.conflicts.value,
  };
  const remarks = known ? explain(known.request, knowledge) : [];
  return (
    <div class="details" role="region" aria-label={`Request ${request.number}`}>
      <header>
        <h3>
          {request.operation} <small>{isRead(request) ? request.accesses[0]?.table : count(request.accesses.length, 'key')}</small>
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

const isRead = ({ accesses }: RecordedRequest) => accesses.some(({ act }) => act === 'Query' || act === 'Scan');

/** The share of the read items that was returned. */
function Proportion({ request }: { request: RecordedRequest }) {
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

function Bodies({ full }: { full: RecordedRequest | undefined }) {
  const part = (title: string, body: RecordedRequest['request']) =>
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
