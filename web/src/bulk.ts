// All items of a table: read, written, exported to files and imported from them.
import { ownerOf, type App } from './app';
import type { TableView } from './tables';
import type { Attributes, ItemsPage } from './transport/control';
import { ServiceError } from './transport/dynamodb';
import { parsed, typedItem, type Parsed } from './value';

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
  for (let at = 0; at < entries.length; at += BATCH) await writeBatch(app, table, entries.slice(at, at + BATCH));
}

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
const pause = (app: App): Promise<unknown> => (app.settable.value && app.controlled.value ? app.advance(1_000) : new Promise((done) => setTimeout(done, 200)));

/** Items as a file: one item to a line, in the format of exports to S3. */
export const exported = (items: Attributes[]): string => items.map((item) => `${JSON.stringify({ Item: item })}\n`).join('');

/** The items of a file: lines or an array of items, as plain JSON, as DynamoDB JSON, or as members named `Item`. */
export function imported(text: string): Attributes[] {
  const trimmed = text.trim();
  return trimmed.startsWith('[') ? elements(parsed(trimmed)).map(itemIn) : trimmed.split('\n').filter((line) => line.trim()).map((line) => itemIn(parsed(line)));
}

type Members = Record<string, unknown>;

const elements = ({ value, digits }: Parsed<Members[]>): Parsed<Members>[] => value.map((element, at) => ({ value: element, digits: (digits as unknown[])[at] }));

const member = ({ value, digits }: Parsed<Members>, name: string): Parsed<Members> => ({ value: value[name] as Members, digits: (digits as Members)[name] });

function itemIn(line: Parsed<Members>): Attributes {
  const { value, digits } = line.value['Item'] ? member(line, 'Item') : line;
  return isTyped(value) ? (value as Attributes) : typedItem(value, digits as Members);
}

const TYPES = new Set(['S', 'N', 'B', 'BOOL', 'NULL', 'L', 'M', 'SS', 'NS', 'BS']);

const isTyped = (item: Record<string, unknown>): boolean =>
  Object.values(item).every((value) => typeof value === 'object' && value !== null && Object.keys(value).length === 1 && TYPES.has(Object.keys(value)[0] ?? ''));
