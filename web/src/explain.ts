// Explains in sentences what a request did, and how it could be improved.
import { EXPRESSION_KINDS, type Attributes, type BetterRead, type Conditions, type ExplainedEntry, type ExplainedExpression, type Explanation, type Expression, type ExpressionNode, type RecordedRequest } from './transport/control';
import type { Conflict } from './feed';
import { hint } from './hints';
import type { TableView } from './tables';
import { keyText } from './value';
import { count, dollars, PRICE, seconds, units } from './words';

export interface Remark {
  kind: 'fact' | 'problem' | 'advice';
  text: string;
  /** A request that would be better, its body in JSON. */
  better?: { operation: string; body: string };
}

type Json = Record<string, unknown>;

/** An expression of a request, and the table that it is for. */
export interface Sent {
  expression: Expression;
  table: string;
  index: string;
}

/** What is known of a request and of where it was sent. */
export interface Knowledge {
  explanation: Explanation | undefined;
  /** Its filter and its key condition, if it has them. */
  filter: ExplainedExpression | undefined;
  condition: ExplainedExpression | undefined;
  /** The tables of its account. */
  tables: TableView[];
  conditions: Conditions | undefined;
  /** How old the state was that a read saw, in seconds, if it was not the latest. */
  age: number | undefined;
  conflicts: Conflict[];
}

/** The explanations of a request, the most important first. */
export function explain(request: RecordedRequest, known: Knowledge): Remark[] {
  const { explanation, tables, conditions, age, conflicts } = known;
  const sent = bodyOf(request);
  const stale = age === undefined ? [] : [problem(`The read was stale: it saw a state that had been replaced ${seconds(age)} before. ConsistentRead avoids that.`)];
  return [
    ...stale,
    ...lost(request, conflicts),
    ...outcome(request, parse(request.response?.body), explanation, sent, tables),
    ...(explanation ? reading(request, explanation, sent, known) : []),
    ...writing(request, tables, conditions),
    ...price(request),
    ...freshness(request, sent, conditions),
  ];
}

/** The request's body, if it is known. */
export const bodyOf = (request: RecordedRequest): Json => parse(request.request?.body);

/** The expressions in a request's body, those of a transaction's actions too. */
export function expressionsOf(body: Json): Sent[] {
  const found: Sent[] = [];
  const actions = (body['TransactItems'] as Json[] | undefined)?.flatMap((action) => Object.values(action) as Json[]) ?? [];
  for (const part of [body, ...actions]) {
    const table = part?.['TableName'];
    if (typeof table !== 'string') continue;
    for (const kind of EXPRESSION_KINDS) {
      const text = part[kind];
      if (typeof text !== 'string') continue;
      const names = part['ExpressionAttributeNames'] as Record<string, string> | undefined;
      const values = part['ExpressionAttributeValues'] as Attributes | undefined;
      found.push({ expression: { kind, text, ...(names ? { names } : {}), ...(values ? { values } : {}) }, table, index: String(part['IndexName'] ?? '') });
    }
  }
  return found;
}

function outcome(request: RecordedRequest, answer: Json, explanation: Explanation | undefined, sent: Json, tables: TableView[]): Remark[] {
  const { error } = request;
  if (!error) {
    if (request.delivery.kind === 'lost') return [problem('The request was executed, and its answer was lost.')];
    if (request.delivery.kind !== 'whole') return [problem(`The answer was not delivered whole: ${request.delivery.kind}.`)];
    return partly(request, explanation);
  }
  const message = String(answer['message'] ?? answer['Message'] ?? '');
  const remarks = [problem(message ? `${error}: ${message}` : error), ...refusals(explanation)];
  const table = tables.find(({ name }) => name === sent['TableName']);
  const remedy = hint(message, { operation: request.operation, body: sent, table, tables });
  if (remedy) remarks.push({ ...advice(remedy.text), ...(remedy.body ? { better: { operation: request.operation, body: formatted(remedy.body) } } : {}) });
  if (/Throughput|Throttling|RequestLimit/.test(error)) {
    remarks.push(advice('The AWS SDKs retry throttled requests by themselves, three attempts in all by default. Larger bursts need more attempts with full jitter, or more capacity.'));
  }
  if (error === 'ConditionalCheckFailedException') {
    remarks.push(fact(`Nothing was written to ${keyText(request.accesses[0]?.key)}.`));
    remarks.push(advice('ReturnValuesOnConditionCheckFailure: ALL_OLD returns the item that made the condition fail, without a second read.'));
  }
  if (error === 'TransactionCanceledException') {
    const causes = answer['CancellationReasons'] as { Code?: string }[] | undefined;
    causes?.forEach(({ Code }, at) => Code && Code !== 'None' && remarks.push(fact(`Action ${at + 1} was the reason: ${Code}.`)));
  }
  return remarks;
}

/** The writes of a request that a concurrent write in another region has replaced. */
function lost({ accesses, caller, at }: RecordedRequest, conflicts: Conflict[]): Remark[] {
  const mine = conflicts.filter((conflict) => conflict.lost.region === caller.region && conflict.lost.at === at && accesses.some(({ table, key }) => table === conflict.table && keyText(key) === keyText(conflict.key)));
  return mine.map(({ key, won }) => problem(`The write of ${keyText(key)} was lost later: ${won.region} also wrote the item, before it had received this write, and the later write of the two replaces the whole item in all regions.`));
}

/** Why entries were refused: each sentence once. */
const refusals = (explanation: Explanation | undefined): Remark[] => [...new Set(explanation?.entries.flatMap(({ sentences }) => sentences) ?? [])].slice(0, 4).map(problem);

function partly({ accesses }: RecordedRequest, explanation: Explanation | undefined): Remark[] {
  const failed = accesses.filter(({ error }) => error);
  if (failed.length === 0) return [];
  const said = problem(`${failed.length} of ${count(accesses.length, 'entry', 'entries')} were not carried out (${failed[0]?.error}). The request still succeeds: send what came back as unprocessed again.`);
  return [said, ...refusals(explanation)];
}

function reading(request: RecordedRequest, explanation: Explanation, sent: Json, { filter, condition, tables }: Knowledge): Remark[] {
  const reads = explanation.entries.filter(({ act }) => act === 'Query' || act === 'Scan' || act === 'Get').slice(0, 4);
  const [first] = reads;
  if (!first || request.status !== 200) return [];
  const remarks = explanation.sentences.filter((sentence) => sentence.startsWith('The filter discarded')).map(problem);
  const mismatch = request.returned === 0 && filter && mismatchedType(filter);
  if (mismatch) remarks.push(problem(mismatch));
  const table = tables.find(({ name }) => name === first.table);
  const others = filter && table ? otherReads(filter.nodes, table) : [];
  const better = best(reads);
  for (const read of better) {
    const changed = request.operation === 'ExecuteStatement' ? betterStatement(read, sent) : betterRequest(read, sent, filter?.nodes ?? [], condition?.nodes ?? [], table);
    const operation = request.operation === 'ExecuteStatement' ? request.operation : read.operation;
    remarks.push({ ...advice(read.sentence), ...(changed ? { better: { operation, body: formatted(changed) } } : {}) });
  }
  if (better.length === 0) remarks.push(...others);
  const sentences = reads.flatMap((entry) => entry.sentences).filter((sentence) => !sentence.startsWith('No key') || others.length === 0);
  remarks.push(...sentences.map((sentence) => (sentence.startsWith('No key') ? advice(sentence) : fact(sentence))));
  if (better.length === 0 && first.act === 'Scan' && !filter) remarks.push(advice('A Query with a partition key reads one item collection, and not the whole table.'));
  return [...remarks, ...partOfItems(first, sent, table), ...pages(request, sent, filter)];
}

/** The better reads that are worth a suggestion: one of the table by its key is better than any of an index. */
function best(reads: ExplainedEntry[]): BetterRead[] {
  const all = reads.flatMap((entry) => entry.better);
  const ofTable = all.find(({ index }) => index === undefined);
  return ofTable ? [ofTable] : all.slice(0, 2);
}

/** What a read leaves out, or pays for without returning it. */
function partOfItems({ index }: ExplainedEntry, sent: Json, table: TableView | undefined): Remark[] {
  const projection = table?.indexes.find(({ name }) => name === index)?.projection;
  const remarks = projection === undefined || projection === 'ALL' ? [] : [fact(`Index ${index} projects ${projection === 'KEYS_ONLY' ? 'only keys' : 'some attributes'}: the returned items lack the others. BatchGetItem reads whole items from the table.`)];
  if (sent['Select'] === 'COUNT') remarks.push(fact('Select: COUNT returns no items, and still reads and pays for all that it counts.'));
  if (sent['ProjectionExpression'] !== undefined) remarks.push(fact('A ProjectionExpression shortens the answer. Units are counted by whole items.'));
  return remarks;
}

/** What a page is not: all of the result. */
function pages(request: RecordedRequest, sent: Json, filter: ExplainedExpression | undefined): Remark[] {
  const more = parse(request.response?.body)['LastEvaluatedKey'] !== undefined;
  if (!more) return [];
  if (filter && sent['Limit'] !== undefined) return [problem(`Limit counts the items that are read, before the filter: this page read ${request.scanned} and returned ${request.returned}. More may follow: continue with LastEvaluatedKey.`)];
  return [fact('This is one page. More may follow: continue with LastEvaluatedKey as ExclusiveStartKey.')];
}

/** The path and the values that each comparison of an expression compares. */
function comparisons(nodes: ExpressionNode[]): { operator: string; path: string; at: number; values: ExpressionNode[] }[] {
  return nodes.flatMap(({ operator, depth }, at) => {
    if (!operator) return [];
    const end = nodes.findIndex((node, after) => after > at && node.depth <= depth);
    const inside = nodes.slice(at + 1, end < 0 ? undefined : end).filter((node) => node.depth === depth + 1);
    const path = inside.findIndex((node) => node.path !== undefined);
    return path < 0 ? [] : [{ operator, path: inside[path]?.path ?? '', at: at + 1 + path, values: inside.filter(({ value }) => value !== undefined) }];
  });
}

const typeOf = (value: object | undefined): string => Object.keys(value ?? {})[0] ?? '';

/** A comparison that no item can meet, since the attribute has another type in all of them. */
function mismatchedType({ nodes, items }: ExplainedExpression): string | undefined {
  for (const { operator, path, at, values } of comparisons(nodes)) {
    if (!/^(=|<|<=|>|>=|BETWEEN|IN)$/.test(operator)) continue;
    const wanted = typeOf(values[0]?.value);
    const found = items.map(({ parts }) => typeOf(parts[at]?.value)).filter((type) => type !== '');
    const other = found[0];
    if (wanted && other && !found.includes(wanted)) return `${path} is of type ${other} in the items, and is compared with a value of type ${wanted}. Values of different types are never equal, and have no order.`;
  }
  return undefined;
}

/** What could be read instead where a filter does not compare with one value. */
function otherReads(nodes: ExpressionNode[], { indexes, keys, name }: TableView): Remark[] {
  const found = comparisons(nodes);
  const partitions = [{ name: '', keys }, ...indexes].flatMap((of) => (of.keys[0] ? [{ index: of.name, key: of.keys[0].name }] : []));
  for (const { index, key } of partitions) {
    const equal = found.filter(({ operator, path }) => path === key && (operator === '=' || operator === 'IN'));
    const count = equal.reduce((sum, { values }) => sum + values.length, 0);
    if (count > 0) return [advice(`${key} is the partition key of ${index ? `index ${index}` : `table ${name}`}: ${count === 1 ? 'a Query' : `${count} Queries, one for each value,`} would read only the items with ${count === 1 ? 'this value' : 'these values'}.`)];
  }
  const contains = found.find(({ operator }) => operator === 'contains');
  if (contains && !found.some(({ operator }) => operator === '=')) return [advice(`No key or index helps contains, which looks inside ${contains.path} of every item. If this query is frequent, store the searched values as keys, such as one item for each tag.`)];
  return [];
}

/** A statement that reads an index by its key. */
function betterStatement({ index, table }: BetterRead, sent: Json): Json | undefined {
  const statement = String(sent['Statement'] ?? '');
  const from = new RegExp(`\\bFROM\\s+"?${table.replaceAll('.', '\\.')}"?(?!["\\w.])`, 'i');
  return index && from.test(statement) ? { ...sent, Statement: statement.replace(from, `FROM "${table}"."${index}"`) } : undefined;
}

/** A better read as a request, if the filter is comparisons that AND connects. */
function betterRequest(read: BetterRead, sent: Json, filter: ExpressionNode[], condition: ExpressionNode[], table: TableView | undefined): Json | undefined {
  const text = String(sent['FilterExpression'] ?? '');
  const parts = clauses(filter);
  if (!parts) return undefined;
  const said = (part: ExpressionNode) => text.slice(part.start, part.end);
  const pathOf = (part: ExpressionNode) => filter.slice(filter.indexOf(part) + 1).find(({ path }) => path !== undefined)?.path ?? '';
  const moved = read.key.flatMap((name) => parts.find((part) => pathOf(part) === name) ?? []);
  const { FilterExpression: _, KeyConditionExpression: before, IndexName: __, ...rest } = sent;
  if (read.operation === 'GetItem') {
    const values = (sent['ExpressionAttributeValues'] ?? {}) as Attributes;
    const Key = Object.fromEntries(moved.map((part) => [pathOf(part), values[/:\w+/.exec(said(part))?.[0] ?? '']]));
    return moved.length === read.key.length ? { TableName: read.table, Key } : undefined;
  }
  const kept = parts.filter((part) => !moved.includes(part)).map(said);
  const keys = moved.map(said);
  if (typeof before === 'string') {
    const compared = condition.flatMap(({ path }) => path ?? []);
    const schema = (table?.indexes.find(({ name }) => name === read.index)?.keys ?? table?.keys ?? []).map(({ name }) => name);
    // A key condition remains one where its attributes are keys, and becomes a filter where they are not.
    if (compared.every((path) => schema.includes(path))) keys.unshift(before);
    else if (compared.some((path) => schema.includes(path))) return undefined;
    else kept.unshift(before);
  }
  return {
    ...rest,
    ...(read.index ? { IndexName: read.index } : {}),
    KeyConditionExpression: keys.join(' AND '),
    ...(kept.length > 0 ? { FilterExpression: kept.join(' AND ') } : {}),
  };
}

/** JSON with its small objects on one line. */
const formatted = (value: Json) => JSON.stringify(value, undefined, 2).replace(/\{\s+("[^"\n]*": "[^"\n]*")\s+\}/g, '{ $1 }');

/** The comparisons of a filter that is one, or several connected by AND alone. */
function clauses(filter: ExpressionNode[]): ExpressionNode[] | undefined {
  const [root] = filter;
  if (!root) return undefined;
  if (root.operator) return [root];
  const logic = filter.filter((part) => part.logic);
  if (logic.some((part) => part.logic !== 'AND')) return undefined;
  const deepest = Math.max(...logic.map(({ depth }) => depth)) + 1;
  return filter.filter((part, at) => part.operator && part.depth <= deepest && filter.slice(0, at).findLast(({ depth }) => depth < part.depth)?.logic);
}

function writing(request: RecordedRequest, tables: TableView[], conditions: Conditions | undefined): Remark[] {
  const written = request.accesses.filter(({ writeUnits, error }) => writeUnits > 0 && !error);
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

function price({ readUnits, writeUnits }: RecordedRequest): Remark[] {
  const amount = (readUnits * PRICE.read + writeUnits * PRICE.write) / 1e6;
  if (amount === 0) return [];
  return [fact(`A million such requests cost ${dollars(amount * 1e6)} on demand in us-east-1.`)];
}

function freshness(request: RecordedRequest, sent: Json, conditions: Conditions | undefined): Remark[] {
  const access = request.accesses[0];
  if (!access || request.status !== 200 || !['Get', 'Query', 'Scan'].includes(access.act)) return [];
  if (access.index) return [fact('Reads of a global index are eventually consistent: they see the changes that have reached the index.')];
  if (sent['ConsistentRead'] === true || /Transact/.test(request.operation)) return [fact('The read is strongly consistent: it saw every write that had been acknowledged.')];
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
