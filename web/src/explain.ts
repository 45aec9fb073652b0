// What a request did, in sentences, and how it could do better.
import type { Conditions, SeenRequest, Touch } from './transport/control';
import type { TableView } from './tables';
import { keyText } from './value';
import { count, dollars, PRICE, seconds, units } from './words';

export interface Remark {
  kind: 'fact' | 'problem' | 'advice';
  text: string;
  /** A request that would be better. */
  code?: string;
}

interface WithBodies extends SeenRequest {
  request?: { body: string; truncated: boolean };
  response?: { body: string; truncated: boolean };
}

type Json = Record<string, unknown>;

const READS = new Set(['Query', 'Scan']);

/** What can be said of a request, the most important first. */
export function explain(request: WithBodies, tables: TableView[], conditions: Conditions | undefined, age?: number): Remark[] {
  const sent = parse(request.request?.body);
  const answer = parse(request.response?.body);
  const stale = age === undefined ? [] : [problem(`The read was stale: it saw a state that had been replaced ${seconds(age)} before. ConsistentRead avoids that.`)];
  return [
    ...stale,
    ...outcome(request, answer),
    ...reading(request, sent, tables),
    ...writing(request, tables, conditions),
    ...price(request),
    ...freshness(request, sent, conditions),
  ];
}

function outcome(request: WithBodies, answer: Json): Remark[] {
  const { error } = request;
  if (!error) {
    if (request.delivery.kind === 'lost') return [problem('The request was carried out, and its answer was lost on the way.')];
    if (request.delivery.kind !== 'whole') return [problem(`The answer was not delivered whole: ${request.delivery.kind}.`)];
    return partly(request);
  }
  const message = String(answer['message'] ?? answer['Message'] ?? '');
  const remarks = [problem(message ? `${error}: ${message}` : error)];
  const reasons = (answer['ThrottlingReasons'] ?? answer['throttlingReasons']) as { reason?: string; resource?: string }[] | undefined;
  for (const { reason, resource } of reasons ?? []) {
    remarks.push(problem(`${LIMITS[limitOf(reason ?? '')] ?? reason ?? ''} (${resource?.split(':').pop() ?? ''})`));
  }
  if (/Throughput|Throttling|RequestLimit/.test(error)) {
    remarks.push(advice('The AWS SDKs retry throttled requests by themselves, three attempts in all by default. Larger bursts need more attempts with full jitter, or more capacity.'));
  }
  if (error === 'ConditionalCheckFailedException') {
    remarks.push(fact(`The condition was false for ${keyText(request.touches[0]?.key)}, so nothing was written. The write units were consumed all the same.`));
    remarks.push(advice('ReturnValuesOnConditionCheckFailure: ALL_OLD returns the item that made the condition fail, without a second read.'));
  }
  if (error === 'TransactionCanceledException') {
    const causes = answer['CancellationReasons'] as { Code?: string }[] | undefined;
    causes?.forEach(({ Code }, at) => Code && Code !== 'None' && remarks.push(fact(`Action ${at + 1} was the reason: ${Code}.`)));
  }
  return remarks;
}

const LIMITS: Record<string, string> = {
  Provisioned: 'The provisioned capacity of the resource was used up',
  KeyRange: 'The partition of this key range is at its own limit of 3,000 read or 1,000 write units a second, whatever the table has left',
  Account: 'The account is at its limit in this region',
  OnDemand: 'The configured maximum of on-demand throughput was reached',
};

const limitOf = (reason: string) => (/KeyRange/.test(reason) ? 'KeyRange' : /Account/.test(reason) ? 'Account' : /OnDemand/.test(reason) ? 'OnDemand' : 'Provisioned');

function partly({ touches }: SeenRequest): Remark[] {
  const failed = touches.filter(({ error }) => error);
  if (failed.length === 0) return [];
  return [problem(`${failed.length} of ${count(touches.length, 'entry', 'entries')} were not carried out (${failed[0]?.error}). The request still succeeds: send what came back as unprocessed again.`)];
}

function reading(request: SeenRequest, sent: Json, tables: TableView[]): Remark[] {
  const touch = request.touches.find(({ act }) => READS.has(act));
  if (!touch || request.status !== 200) return [];
  const { scanned, returned } = request;
  const dropped = scanned - returned;
  const remarks = [fact(`It looked at ${count(scanned, 'item')}${dropped > 0 && sent['Select'] !== 'COUNT' ? `, filtered out ${dropped}` : ''} and returned ${returned}, for ${units(request.readUnits)} read units.`)];
  if (dropped > 0) remarks.push(problem(`Filters apply after items are read: ${count(dropped, 'item')} were paid for and not returned.`));
  const table = tables.find(({ name }) => name === touch.table);
  const better = betterQuery(touch, sent, table, dropped);
  if (better) remarks.push(better);
  return remarks;
}

/** A request that reads less for the same result, if the table's keys or the filter show one. */
function betterQuery(touch: Touch, sent: Json, table: TableView | undefined, dropped: number): Remark | undefined {
  const filter = String(sent['FilterExpression'] ?? '');
  if (!table || (touch.act === 'Query' && dropped < 10)) return undefined;
  const names = (sent['ExpressionAttributeNames'] ?? {}) as Record<string, string>;
  const equals = [...filter.matchAll(/(#?[\w.]+)\s*=\s*(:\w+)/g)].map(([, name = '', value = '']) => ({ attribute: names[name] ?? name, name, value }));
  const keys = [{ name: undefined as string | undefined, key: table.keys[0]?.name }, ...table.indexes.map(({ name, keys: [first] }) => ({ name, key: first?.name }))];
  for (const { attribute, name, value } of equals) {
    const found = keys.find(({ key }) => key === attribute);
    if (!found) continue;
    const { FilterExpression: _, ...rest } = sent;
    const query = { ...rest, ...(found.name ? { IndexName: found.name } : {}), KeyConditionExpression: `${name} = ${value}` };
    return { kind: 'advice', text: `A Query ${found.name ? `of the index ${found.name}` : 'by the partition key'} reads only the items with that ${attribute}:`, code: JSON.stringify(query, undefined, 2) };
  }
  if (equals[0] && dropped > 0) {
    const { attribute } = equals[0];
    return { kind: 'advice', text: `No key begins with ${attribute}. With a global index whose partition key is ${attribute}, a Query reads only the items that match.` };
  }
  if (touch.act === 'Scan' && !touch.index) return { kind: 'advice', text: `A Scan reads the whole table. A Query by ${table.keys[0]?.name} reads one item collection.` };
  return undefined;
}

function writing(request: SeenRequest, tables: TableView[], conditions: Conditions | undefined): Remark[] {
  const written = request.touches.filter(({ writeUnits, error }) => writeUnits > 0 && !error);
  if (written.length === 0 || request.status !== 200) return [];
  const names = [...new Set(written.map(({ table }) => table))];
  const remarks = [fact(`It wrote ${count(written.length, 'item')} for ${units(request.writeUnits)} write units${/Transact/.test(request.operation) ? '; a transaction pays twice, to prepare and to commit' : ''}.`)];
  for (const table of tables.filter(({ name, indexes }) => names.includes(name) && indexes.some(({ kind }) => kind === 'global'))) {
    const lag = conditions?.indexPropagation === 0 ? 'at once, under these conditions' : 'after a lag';
    const global = table.indexes.filter(({ kind }) => kind === 'global').map(({ name }) => name);
    remarks.push(fact(`The change reaches ${global.join(', ')} ${lag}. Units include those of the indexes.`));
  }
  return remarks;
}

function price({ readUnits, writeUnits }: SeenRequest): Remark[] {
  const amount = (readUnits * PRICE.read + writeUnits * PRICE.write) / 1e6;
  if (amount === 0) return [];
  return [fact(`A million such requests cost ${dollars(amount * 1e6)} on demand in us-east-1.`)];
}

function freshness(request: SeenRequest, sent: Json, conditions: Conditions | undefined): Remark[] {
  const touch = request.touches[0];
  if (!touch || request.status !== 200 || !['Get', 'Query', 'Scan'].includes(touch.act)) return [];
  if (touch.index) return [fact('Reads of a global index are eventually consistent: the index shows what has arrived by now.')];
  if (sent['ConsistentRead'] === true || /Transact/.test(request.operation)) return [fact('The read is strongly consistent: it saw every write that was answered before.')];
  const may = conditions && conditions.staleReads > 0 && conditions.readStaleness !== 0;
  return [fact(may ? 'The read is eventually consistent: under these conditions it may return an older state. ConsistentRead avoids that, for twice the units.' : 'The read is eventually consistent. Under these conditions it is never stale; on AWS it can be.')];
}

const fact = (text: string): Remark => ({ kind: 'fact', text });
const problem = (text: string): Remark => ({ kind: 'problem', text });
const advice = (text: string): Remark => ({ kind: 'advice', text });

function parse(text: string | undefined): Json {
  try {
    return text ? (JSON.parse(text) as Json) : {};
  } catch {
    return {};
  }
}

