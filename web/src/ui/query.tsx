// The query builder: fields in, a request out, and what the request costs.
import { signal, useSignal } from '@preact/signals';
import { words, type App } from '../app';
import type { KeyPart, TableView } from '../tables';
import type { Attributes } from '../transport/control';
import { brief, keyText } from '../value';
import { count, units } from '../words';
import { showRequest } from './code-pane';
import { Icon } from './icon';
import { TableChoice } from './table-choice';

const COMPARISONS = ['=', '<', '<=', '>', '>=', 'begins_with', 'between'];

const index = signal('');
const partition = signal('');
const comparison = signal('begins_with');
const sort = signal('');
const upper = signal('');
const filterName = signal('');
const filterValue = signal('');
const descending = signal(false);
const consistent = signal(false);

interface Built {
  operation: 'Query' | 'Scan';
  body: Record<string, unknown>;
}

/** The request that the fields describe: a Query if there is a partition key, a Scan if not. */
function build(table: TableView): Built {
  const keys = table.indexes.find(({ name }) => name === index.value)?.keys ?? table.keys;
  const names: Record<string, string> = {};
  const values: Attributes = {};
  const value = (name: string, { type }: KeyPart, text: string) => ((values[name] = { [type]: text }), name);
  const body: Record<string, unknown> = { TableName: table.name };
  if (index.value) body['IndexName'] = index.value;
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
  if (filterName.value) {
    names['#filter'] = filterName.value;
    const number = filterValue.value !== '' && Number.isFinite(Number(filterValue.value));
    body['FilterExpression'] = `#filter = ${value(':filter', { name: filterName.value, type: number ? 'N' : 'S' }, filterValue.value)}`;
  }
  if (Object.keys(names).length > 0) Object.assign(body, { ExpressionAttributeNames: names, ExpressionAttributeValues: values });
  if (consistent.value) body['ConsistentRead'] = true;
  body['ReturnConsumedCapacity'] = 'TOTAL';
  return { operation: body['KeyConditionExpression'] ? 'Query' : 'Scan', body };
}

interface Answer {
  Items: Attributes[];
  Count: number;
  ScannedCount: number;
  ConsumedCapacity?: { CapacityUnits: number };
  LastEvaluatedKey?: Attributes;
}

export function QueryPanel({ app, onShow }: { app: App; onShow: () => void }) {
  const table = app.tables.current.value;
  const answer = useSignal<Answer | undefined>(undefined);
  const trouble = useSignal('');
  if (!table) return <p class="quiet empty">No tables yet.</p>;
  const keys = table.indexes.find(({ name }) => name === index.value)?.keys ?? table.keys;
  const built = build(table);
  const run = async (more: Record<string, unknown> = {}) => {
    try {
      answer.value = (await app.request(built.operation, { ...built.body, ...more })) as Answer;
      trouble.value = '';
    } catch (error) {
      trouble.value = words(error);
    }
  };
  return (
    <form
      class="query"
      onSubmit={(event) => {
        event.preventDefault();
        void run();
      }}
    >
      <div class="tools slim">
        <TableChoice app={app} table={table} />
        <label class="line">
          Index
          <select value={index.value} onChange={(event) => (index.value = event.currentTarget.value)}>
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
      <div class="tools slim">
        <label class="line">
          Filter
          <input aria-label="Attribute to filter by" placeholder="attribute" value={filterName.value} onInput={(event) => (filterName.value = event.currentTarget.value.trim())} />
          =
          <input aria-label="Value to filter for" value={filterValue.value} onInput={(event) => (filterValue.value = event.currentTarget.value)} />
        </label>
        <label class="check"><input type="checkbox" checked={descending.value} onChange={(event) => (descending.value = event.currentTarget.checked)} /> descending</label>
        <label class="check"><input type="checkbox" checked={consistent.value} onChange={(event) => (consistent.value = event.currentTarget.checked)} /> consistent</label>
        <button type="submit" class="primary"><Icon name="play" /> {built.operation}</button>
        <button type="button" onClick={() => (showRequest(built.operation, JSON.stringify(built.body, undefined, 2)), document.getElementById('send-Request')?.click())}>As request</button>
      </div>
      {trouble.value && <p class="trouble" role="alert">{trouble.value}</p>}
      {!answer.value && <p class="quiet">With a partition key this is a Query, which reads one item collection. Without one it is a Scan, which reads the whole table. A filter drops items after they were read and paid for.</p>}
      {answer.value && <Result answer={answer.value} onMore={() => void run({ ExclusiveStartKey: answer.value?.LastEvaluatedKey })} onShow={onShow} />}
    </form>
  );
}

function Result({ answer, onMore, onShow }: { answer: Answer; onMore: () => void; onShow: () => void }) {
  const { Items: items, Count, ScannedCount, ConsumedCapacity, LastEvaluatedKey } = answer;
  const names = [...new Set(items.flatMap((item) => Object.keys(item)))].slice(0, 12);
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
              <tr key={at}>{names.map((name) => <td key={name}>{brief(item[name]).slice(0, 80)}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
