// All items of a table: read, written, exported to files and imported from them.
import type { App } from './app';
import type { TableView } from './tables';
import type { Attributes, AttributeValue, ItemsPage } from './transport/control';
import { ownerOf, ServiceError } from './transport/dynamodb';
import { isTypedItem, parsed, typedItem, type Parsed } from './value';

const PAGE = 1_000;
/** The most entries of a BatchWriteItem. */
const BATCH = 25;
const MOST_ATTEMPTS = 100;

export type WriteEntry = { PutRequest: { Item: Attributes } } | { DeleteRequest: { Key: Attributes } };

/** Reads all items of a table, unmetered. */
export async function allItems(app: App, table: TableView): Promise<Attributes[]> {
  const control = app.control.of(ownerOf(table));
  const items: Attributes[] = [];
  for (let next: string | undefined; ; ) {
    const page: ItemsPage = await control.items({ table: table.name, limit: PAGE, ...(next === undefined ? {} : { after: next }) });
    items.push(...page.items.map(({ item }) => item));
    next = page.next;
    if (next === undefined) return items;
  }
}

/** Writes and deletes items in batches, and sends unprocessed and throttled ones again. */
export async function writeItems(app: App, table: TableView, entries: WriteEntry[]): Promise<void> {
  for (const batch of batches(table, entries)) await writeBatch(app, table, batch);
}

/** Entries in the order given, in batches of distinct keys: a batch that has a key twice is refused. */
function* batches({ keys }: TableView, entries: WriteEntry[]): Generator<WriteEntry[]> {
  let batch: WriteEntry[] = [];
  let written = new Set<string>();
  for (const entry of entries) {
    const attributes = 'PutRequest' in entry ? entry.PutRequest.Item : entry.DeleteRequest.Key;
    const key = JSON.stringify(keys.map(({ name }) => comparable(attributes[name])));
    if (batch.length === BATCH || written.has(key)) {
      yield batch;
      batch = [];
      written = new Set();
    }
    batch.push(entry);
    written.add(key);
  }
  if (batch.length > 0) yield batch;
}

/** A key attribute in a form that is the same for equal values: numbers may be written in several ways. */
const comparable = (value: AttributeValue | undefined): unknown => (value && 'N' in value ? Number(value['N']) : value);

async function writeBatch(app: App, table: TableView, entries: WriteEntry[]): Promise<void> {
  let left = entries;
  for (let attempt = 0; left.length > 0; attempt += 1) {
    if (attempt === MOST_ATTEMPTS) throw new Error(`${left.length} items were throttled ${MOST_ATTEMPTS} times.`);
    if (attempt > 0) await pause(app);
    try {
      const answer = (await app.request('BatchWriteItem', { RequestItems: { [table.name]: left } }, ownerOf(table))) as { UnprocessedItems?: Record<string, WriteEntry[]> };
      left = Object.values(answer.UnprocessedItems ?? {}).flat();
    } catch (error) {
      if (!(error instanceof ServiceError) || !/Throughput|Throttling|InternalServerError/.test(error.name)) throw error;
    }
  }
}

// Capacity refills as time passes: by the emulator's clock where the page advances it.
const pause = (app: App): Promise<unknown> => (app.time.settable.value && app.controlled.value ? app.time.advance(1_000) : new Promise((done) => setTimeout(done, 200)));

/** Items as a file: one item to a line, in the format of exports to S3. */
export const exported = (items: Attributes[]): string => items.map((item) => `${JSON.stringify({ Item: item })}\n`).join('');

/** The items of a file: lines or an array of items, as plain JSON, as DynamoDB JSON, or each as the only member of an object, named `Item`. */
export function imported(text: string): Attributes[] {
  const trimmed = text.trim();
  return trimmed.startsWith('[') ? elements(parsed(trimmed)).map(itemIn) : trimmed.split('\n').filter((line) => line.trim()).map((line) => itemIn(parsed(line)));
}

type Members = Record<string, unknown>;

const elements = ({ value, digits }: Parsed<Members[]>): Parsed<Members>[] => value.map((element, at) => ({ value: element, digits: (digits as unknown[])[at] }));

const member = ({ value, digits }: Parsed<Members>, name: string): Parsed<Members> => ({ value: value[name] as Members, digits: (digits as Members)[name] });

function itemIn(line: Parsed<Members>): Attributes {
  const { Item: only, ...others } = line.value;
  const isWrapped = typeof only === 'object' && only !== null && !Array.isArray(only) && Object.keys(others).length === 0;
  const { value, digits } = isWrapped ? member(line, 'Item') : line;
  return isTypedItem(value) ? value : typedItem(value, digits as Members);
}
