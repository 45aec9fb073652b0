// The query builder: fields in, a request out, and the cost of the request.
import { signal, useSignal } from '@preact/signals';
import type { App } from '../app';
import { indexOf, type KeyPart, type TableView } from '../tables';
import type { Attributes, AttributeValue } from '../transport/control';
import { ownerOf, words } from '../transport/dynamodb';
import { brief, keyText } from '../value';
import { count, units } from '../words';
import { showRequest } from './code-pane';
import { Icon } from './icon';
import { ItemEditor, type EditedItem } from './items';
import { TableChoice } from './table-choice';

const COMPARISONS = ['=', '<', '<=', '>', '>=', 'begins_with', 'between'];

const OPERATORS = ['=', '<>', '<', '<=', '>', '>=', 'begins_with', 'contains', 'exists', 'is absent'];
const TYPES: [string, string][] = [['', 'auto'], ['S', 'string'], ['N', 'number'], ['BOOL', 'Boolean']];

interface Filter {
  name: string;
  operator: string;
  /** The type of the value; empty: a number if it looks like one, otherwise a string. */
  type: string;
  value: string;
}

const hasValue = ({ operator }: Filter) => operator !== 'exists' && operator !== 'is absent';

/** The name of the chosen index. */
const chosen = signal('');
const partition = signal('');
const comparison = signal('begins_with');
const sort = signal('');
const upper = signal('');
const filters = signal<Filter[]>([{ name: '', operator: '=', type: '', value: '' }]);
const descending = signal(false);
const consistent = signal(false);

interface Built {
  operation: 'Query' | 'Scan';
  body: Record<string, unknown>;
}

/** The request that the fields describe: a Query if there is a partition key, otherwise a Scan. */
function build(table: TableView): Built {
  const index = indexOf(table, chosen.value);
  const keys = index?.keys ?? table.keys;
  const names: Record<string, string> = {};
  const values: Attributes = {};
  const value = (name: string, { type }: KeyPart, text: string) => ((values[name] = { [type]: text }), name);
  const body: Record<string, unknown> = { TableName: table.name };
  if (index) body['IndexName'] = index.name;
  const [hash, range] = keys;
  if (hash && partition.value) {
    names['#pk'] = hash.name;
    let condition = `#pk = ${value(':pk', hash, partition.value)}`;
    if (range && sort.value) {
      names['#sk'] = range.name;
      const first = value(':sk', range, sort.value);
      if (comparison.value === 'begins_with') condition += ` AND begins_with(#sk, ${first})`;
      else if (comparison.value === 'between') condition += ` AND #sk BETWEEN ${first} AND ${value(':upper', range, upper.value)}`;
      else condition += ` AND #sk ${comparison.value} ${first}`;
    }
    body['KeyConditionExpression'] = condition;
    if (descending.value) body['ScanIndexForward'] = false;
  }
  const clauses = filters.value.filter(({ name }) => name).map((filter, at) => clause(filter, at, names, values));
  if (clauses.length > 0) body['FilterExpression'] = clauses.join(' AND ');
  if (Object.keys(names).length > 0) body['ExpressionAttributeNames'] = names;
  if (Object.keys(values).length > 0) body['ExpressionAttributeValues'] = values;
  if (consistent.value) body['ConsistentRead'] = true;
  body['ReturnConsumedCapacity'] = 'TOTAL';
  return { operation: body['KeyConditionExpression'] ? 'Query' : 'Scan', body };
}

/** A filter as a part of the expression. The attribute may be a path such as `address.city`. */
function clause(filter: Filter, at: number, names: Record<string, string>, values: Attributes): string {
  const path = filter.name.split('.').map((part, depth) => {
    const [, name = part, element = ''] = /^(.*?)((?:\[\d+\])*)$/.exec(part) ?? [];
    names[`#f${at}_${depth}`] = name;
    return `#f${at}_${depth}${element}`;
  }).join('.');
  if (filter.operator === 'exists') return `attribute_exists(${path})`;
  if (filter.operator === 'is absent') return `attribute_not_exists(${path})`;
  values[`:f${at}`] = valueOf(filter);
  return /^\w/.test(filter.operator) ? `${filter.operator}(${path}, :f${at})` : `${path} ${filter.operator} :f${at}`;
}

function valueOf({ type, value }: Filter): AttributeValue {
  if (type === 'BOOL') return { BOOL: value.trim() === 'true' };
  const isNumber = type === 'N' || (type === '' && value.trim() !== '' && Number.isFinite(Number(value)));
  return isNumber ? { N: value.trim() } : { S: value };
}

interface Answer {
  Items: Attributes[];
  Count: number;
  ScannedCount: number;
  ConsumedCapacity?: { CapacityUnits: number };
  LastEvaluatedKey?: Attributes;
}

/** A request of the panel, with its answer or its error. */
interface Asked extends Built {
  /** The id of the table that was read. */
  table: string;
  answer?: Answer;
  trouble?: string;
}

export function QueryPanel({ app, onShow }: { app: App; onShow: () => void }) {
  const table = app.tables.current.value;
  const latest = useSignal<Asked | undefined>(undefined);
  const opened = useSignal<EditedItem | undefined>(undefined);
  if (!table) return <p class="quiet empty">No tables yet.</p>;
  const index = indexOf(table, chosen.value);
  const keys = index?.keys ?? table.keys;
  const built = build(table);
  // The fields and the table may have changed since the latest request: its answer is not shown for another table.
  const asked = latest.value?.table === table.id ? latest.value : undefined;
  const send = async ({ operation, body }: Built) => {
    const of = { operation, body, table: table.id };
    try {
      latest.value = { ...of, answer: (await app.request(operation, body, ownerOf(table))) as Answer };
    } catch (error) {
      latest.value = { ...of, trouble: words(error) };
    }
  };
  // An index may lack attributes: the whole item is read from the table.
  const open = async (shown: Asked, item: Attributes) => {
    const key = Object.fromEntries(table.keys.map(({ name }) => [name, item[name] ?? {}]));
    const projection = indexOf(table, String(shown.body['IndexName']))?.projection ?? 'ALL';
    try {
      const whole = projection === 'ALL' ? item : ((await app.request('GetItem', { TableName: table.name, Key: key, ConsistentRead: true }, ownerOf(table))) as { Item?: Attributes }).Item;
      if (whole) opened.value = { key, item: whole };
    } catch (error) {
      latest.value = { ...shown, trouble: words(error) };
    }
  };
  return (
    <>
      <form
        class="query"
        onSubmit={(event) => {
          event.preventDefault();
          void send(built);
        }}
      >
        <div class="tools slim">
          <TableChoice app={app} table={table} />
          <label class="line">
            Index
            <select value={index?.name ?? ''} onChange={(event) => (chosen.value = event.currentTarget.value)}>
              <option value="">none</option>
              {table.indexes.map(({ name }) => <option key={name} value={name}>{name}</option>)}
            </select>
          </label>
          <label class="line">
            {keys[0]?.name} =
            <input value={partition.value} placeholder="all: a Scan" onInput={(event) => (partition.value = event.currentTarget.value)} />
          </label>
          {keys[1] && (
            <label class="line">
              {keys[1].name}
              <select aria-label="Comparison" value={comparison.value} onChange={(event) => (comparison.value = event.currentTarget.value)}>
                {COMPARISONS.map((name) => <option key={name}>{name}</option>)}
              </select>
              <input aria-label={keys[1].name} value={sort.value} disabled={!partition.value} onInput={(event) => (sort.value = event.currentTarget.value)} />
              {comparison.value === 'between' && <input aria-label="Upper bound" value={upper.value} onInput={(event) => (upper.value = event.currentTarget.value)} />}
            </label>
          )}
        </div>
        {filters.value.map((filter, at) => <FilterRow key={at} filter={filter} at={at} />)}
        <div class="tools slim">
          <button type="button" onClick={() => (filters.value = [...filters.value, { name: '', operator: '=', type: '', value: '' }])}><Icon name="plus" /> Filter</button>
          <label class="check"><input type="checkbox" checked={descending.value} onChange={(event) => (descending.value = event.currentTarget.checked)} /> descending</label>
          <label class="check"><input type="checkbox" checked={consistent.value} onChange={(event) => (consistent.value = event.currentTarget.checked)} /> consistent</label>
          <button type="submit" class="primary"><Icon name="play" /> {built.operation}</button>
          <button type="button" onClick={() => (showRequest(built.operation, JSON.stringify(built.body, undefined, 2)), document.getElementById('send-Request')?.click())}>As request</button>
        </div>
        {asked?.trouble && <p class="trouble" role="alert">{asked.trouble}</p>}
        {!asked?.answer && <p class="quiet">With a partition key this is a Query, which reads one item collection. Without one it is a Scan, which reads the whole table. A filter drops items after they were read and paid for.</p>}
        {asked?.answer && <Result answer={asked.answer} keys={[...table.keys, ...keys].map(({ name }) => name)} onOpen={(item) => void open(asked, item)} onMore={() => void send({ ...asked, body: { ...asked.body, ExclusiveStartKey: asked.answer?.LastEvaluatedKey } })} onShow={onShow} />}
      </form>
      {opened.value && <ItemEditor app={app} table={table} item={opened.value} onClose={() => ((opened.value = undefined), asked && void send(asked))} />}
    </>
  );
}

function FilterRow({ filter, at }: { filter: Filter; at: number }) {
  const set = (change: Partial<Filter>) => (filters.value = filters.value.map((one, other) => (other === at ? { ...one, ...change } : one)));
  return (
    <div class="tools slim">
      <label class="line">
        {at === 0 ? 'Filter' : 'and'}
        <input aria-label="Attribute to filter by" placeholder="attribute" spellcheck={false} value={filter.name} onInput={(event) => set({ name: event.currentTarget.value.trim() })} />
      </label>
      <select aria-label="Operator of the filter" value={filter.operator} onChange={(event) => set({ operator: event.currentTarget.value })}>
        {OPERATORS.map((name) => <option key={name}>{name}</option>)}
      </select>
      {hasValue(filter) && (
        <span class="line">
          <input aria-label="Value to filter for" value={filter.value} onInput={(event) => set({ value: event.currentTarget.value })} />
          <select aria-label="Type of the value" value={filter.type} onChange={(event) => set({ type: event.currentTarget.value })}>
            {TYPES.map(([type, word]) => <option key={type} value={type}>{word}</option>)}
          </select>
        </span>
      )}
      {at > 0 && <button type="button" class="small" onClick={() => (filters.value = filters.value.filter((_, other) => other !== at))}>Remove</button>}
    </div>
  );
}

interface ResultProps {
  answer: Answer;
  keys: string[];
  onMore: () => void;
  onShow: () => void;
  onOpen: (item: Attributes) => void;
}

function Result({ answer, keys, onMore, onShow, onOpen }: ResultProps) {
  const { Items: items, Count, ScannedCount, ConsumedCapacity, LastEvaluatedKey } = answer;
  const found = new Set(items.flatMap((item) => Object.keys(item)));
  const names = [...new Set([...keys.filter((name) => found.has(name)), ...found])].slice(0, 12);
  return (
    <>
      <p class="result-line">
        {count(Count, 'item')} returned, {ScannedCount} read, {units(ConsumedCapacity?.CapacityUnits ?? 0)} read units.
        {ScannedCount > Count && <b class="bad"> {ScannedCount - Count} were paid for and filtered out.</b>}{' '}
        <button type="button" class="small" onClick={onShow}>Explain</button>
        {LastEvaluatedKey && <button type="button" class="small" onClick={onMore}>Next page, after {keyText(LastEvaluatedKey)}</button>}
      </p>
      <div class="grid" tabIndex={0} role="region" aria-label="Result">
        <table>
          <thead><tr>{names.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
          <tbody>
            {items.slice(0, 500).map((item, at) => (
              <tr key={at}>
                {names.map((name, column) => {
                  const text = brief(item[name]).slice(0, 80);
                  return <td key={name}>{column === 0 ? <button type="button" class="link" onClick={() => onOpen(item)}>{text}</button> : text}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
