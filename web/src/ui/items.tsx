// The items of a table: a virtual list over pages, and an editor for one item.
import { signal, useSignal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { App } from '../app';
import type { Attributes, StoredItem } from '../transport/control';
import { ownerOf, words, type Account } from '../transport/dynamodb';
import { indexOf, type TableView } from '../tables';
import { brief, isTypedItem, itemOf, keyText, plainItem } from '../value';
import { bytes, count, dollars, PRICE, units } from '../words';
import { Icon } from './icon';
import { useModal } from './modal';
import { TableChoice } from './table-choice';

const ROW = 34;
/** How many rows are drawn above and below those that are seen. */
const BEYOND = 8;
/** The most rows that are read at once. */
const BLOCK = 200;

/** Changes that can be undone: the previous items, the latest last. */
interface Change {
  table: string;
  owner: Account;
  key: Attributes;
  before: Attributes | undefined;
}
const undo = signal<Change[]>([]);

export function ItemsPanel({ app }: { app: App }) {
  const table = app.tables.current.value;
  const chosen = useSignal('');
  const edited = useSignal<{ table: string; item: StoredItem | undefined } | undefined>(undefined);
  const trouble = useSignal('');
  if (!table) return <p class="quiet empty">No tables yet.</p>;
  const index = indexOf(table, chosen.value)?.name ?? '';
  const takeBack = async () => {
    const change = undo.value.at(-1);
    if (!change) return;
    undo.value = undo.value.slice(0, -1);
    const { table: TableName, owner, key, before } = change;
    try {
      if (before) await app.request('PutItem', { TableName, Item: before }, owner);
      else await app.request('DeleteItem', { TableName, Key: key }, owner);
    } catch (error) {
      trouble.value = words(error);
    }
  };
  return (
    <div class="items">
      <div class="tools slim">
        <TableChoice app={app} table={table} />
        <label class="line">
          Show
          <select value={index} onChange={(event) => (chosen.value = event.currentTarget.value)}>
            <option value="">the table</option>
            {table.indexes.map(({ name }) => <option key={name} value={name}>index {name}</option>)}
          </select>
        </label>
        <span class="quiet">{count(table.items, 'item')}, {bytes(table.bytes)}</span>
        <span class="spring" />
        <button type="button" disabled={undo.value.length === 0} onClick={() => void takeBack()}>
          <Icon name="undo" /> Undo
        </button>
        <button type="button" onClick={() => (edited.value = { table: table.name, item: undefined })}>
          <Icon name="plus" /> Add item
        </button>
      </div>
      {trouble.value && <p class="trouble" role="alert">{trouble.value}</p>}
      <ItemList key={`${table.id} ${index}`} app={app} table={table} index={index} onOpen={(item) => (edited.value = { table: table.name, item })} />
      {edited.value && <ItemEditor app={app} table={table} item={edited.value.item} onClose={() => (edited.value = undefined)} />}
    </div>
  );
}

/** Which rows are on the screen. */
interface Shown {
  from: number;
  to: number;
}

/** The rows of a table or index: those that are shown are read by their position, and again when items may have changed. */
function useRows(app: App, table: TableView, index: string, { from, to }: Shown) {
  const rows = useRef(new Map<number, StoredItem>());
  const read = useRef(new Set<number>());
  const end = useRef<number | undefined>(undefined);
  const busy = useRef(false);
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef({ from, to });
  latest.current = { from, to };
  const [, redraw] = useState(0);
  const block = blockOf(table);
  const version = app.tables.version.value;

  const readBlock = async (number: number) => {
    const start = number * block;
    const found: StoredItem[] = [];
    for (;;) {
      const page = await app.control.of(ownerOf(table)).items({ table: table.name, skip: start + found.length, limit: block - found.length, ...(index ? { index } : {}) });
      found.push(...page.items);
      if (page.next === undefined) return { start, found, end: page.skipped + page.items.length };
      if (found.length >= block || page.items.length === 0) return { start, found, end: undefined };
    }
  };

  const load = async () => {
    if (busy.current) return;
    busy.current = true;
    try {
      for (;;) {
        const wanted = [];
        for (let at = Math.floor(latest.current.from / block); at * block < latest.current.to; at += 1) if (!read.current.has(at)) wanted.push(at);
        if (wanted.length === 0) return;
        for (const at of wanted) read.current.add(at);
        for (const { start, found, end: last } of await Promise.all(wanted.map(readBlock))) {
          for (let at = start; at < start + block; at += 1) {
            const row = found[at - start];
            if (row) rows.current.set(at, row);
            else rows.current.delete(at);
          }
          if (last !== undefined) end.current = last;
          else if (end.current !== undefined && end.current < start + found.length) end.current = undefined;
        }
        redraw((times) => times + 1);
      }
    } catch {
      rows.current.clear();
      read.current.clear();
      end.current = 0;
      redraw((times) => times + 1);
    } finally {
      busy.current = false;
    }
  };

  useEffect(() => void load(), [from, to]);
  useEffect(() => {
    if (soon.current !== undefined) return;
    soon.current = setTimeout(() => {
      soon.current = undefined;
      read.current.clear();
      void load();
    }, 150);
  }, [version]);
  useEffect(() => () => clearTimeout(soon.current), []);

  // An index has at most one entry for each item; their number is known once its end has been read.
  return { rows: rows.current, total: index ? (end.current ?? table.items) : table.items };
}

/** How many rows are read at once: few if they are large. */
const blockOf = ({ items, bytes }: TableView) => Math.max(20, Math.min(BLOCK, Math.floor(1e6 / (bytes / items || 1))));

function ItemList({ app, table, index, onOpen }: { app: App; table: TableView; index: string; onOpen: (item: StoredItem) => void }) {
  const scroller = useRef<HTMLDivElement>(null);
  const [shown, setShown] = useState<Shown>({ from: 0, to: 30 });
  const { rows, total } = useRows(app, table, index, shown);
  const keys = [...table.keys, ...(indexOf(table, index)?.keys ?? [])].filter((key, at, all) => all.findIndex(({ name }) => name === key.name) === at);
  const names = keys.map(({ name }) => name);

  const measure = () => {
    const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    const first = Math.floor(scrollTop / ROW);
    const from = Math.max(0, first - BEYOND);
    const to = first + Math.ceil(clientHeight / ROW) + BEYOND;
    setShown((before) => (before.from === from && before.to === to ? before : { from, to }));
  };
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const to = Math.min(shown.to, total);
  const from = Math.min(shown.from, to);
  const space = (count: number) => count > 0 && <tr aria-hidden="true" style={{ height: `${count * ROW}px` }} />;
  return (
    <div class="grid rows" ref={scroller} onScroll={measure} tabIndex={0} role="region" aria-label={`Items of ${table.name}`}>
      <table aria-rowcount={total + 1} style={{ '--keys': names.length }}>
        <thead>
          <tr>
            {names.map((name) => <th key={name} class="key" scope="col">{name}</th>)}
            <th scope="col">Other attributes</th>
            <th scope="col" class="number">Size</th>
            <th scope="col" class="number">Partition</th>
          </tr>
        </thead>
        <tbody>
          {space(from)}
          {Array.from({ length: to - from }, (_, at) => {
            const stored = rows.get(from + at);
            if (!stored) return <tr key={from + at} aria-hidden="true"><td class="unread" colSpan={names.length + 3} /></tr>;
            const expired = table.ttl !== undefined && isExpired(stored, table.ttl, app.time.now.value);
            return <Row key={keyText(stored.key)} stored={stored} names={names} first={rows.get(from + at - 1)?.token !== stored.token} expired={expired} onOpen={onOpen} />;
          })}
          {space(total - to)}
        </tbody>
      </table>
      {total === 0 && <p class="quiet empty">No items.</p>}
    </div>
  );
}

function isExpired({ item }: StoredItem, ttl: string, now: number): boolean {
  const expires = item[ttl]?.['N'];
  return expires !== undefined && Number(expires) * 1000 <= now;
}

interface RowProps {
  stored: StoredItem;
  names: string[];
  first: boolean;
  expired: boolean;
  onOpen: (item: StoredItem) => void;
}

function Row({ stored, names, first, expired, onOpen }: RowProps) {
  const { item, bytes: size, partition } = stored;
  const keys = names.map((name) => brief(item[name]));
  return (
    <tr data-first={first} data-expired={expired}>
      {keys.map((text, at) => (
        <td key={at} title={text}>
          {at === 0 ? <button type="button" class="link" onClick={() => onOpen(stored)}>{text}</button> : text}
        </td>
      ))}
      <td class="others">
        {expired && <b class="tag">expired</b>}
        {others(stored, names).map(({ name, text }) => (
          <span key={name}><i>{name}</i> {text}</span>
        ))}
      </td>
      <td class="number">{bytes(size)}</td>
      <td class="number">{partition}</td>
    </tr>
  );
}

/** Attributes other than the keys, short values first: a long one would hide the following ones. */
function others({ item }: StoredItem, keys: string[]): { name: string; text: string }[] {
  const texts = Object.entries(item).filter(([name]) => !keys.includes(name)).map(([name, value]) => ({ name, text: brief(value).slice(0, 60) }));
  return texts.sort((one, other) => one.text.length - other.text.length).slice(0, 8);
}

/** How an item is written, as JSON of either kind. */
const FORMS = {
  plain: 'Sets, binary values and very long numbers are written with their type: {"SS": ["a", "b"]}, {"B": "YQ=="}, {"N": "0.1234567890123456789"}. Every other object is a map.',
  typed: 'Every value is written with its type: {"S": "text"}, {"N": "1"}, {"M": {"name": {"S": "text"}}}.',
};

/** An item, with its size and place where they are known. */
export type EditedItem = Pick<StoredItem, 'key' | 'item'> & Partial<StoredItem>;

export function ItemEditor({ app, table, item, onClose }: { app: App; table: TableView; item: EditedItem | undefined; onClose: () => void }) {
  const dialog = useModal(onClose);
  const raw = useSignal(false);
  const start = item?.item ?? Object.fromEntries(table.keys.map(({ name, type }) => [name, { [type]: type === 'N' ? '0' : '' }]));
  const text = useSignal(JSON.stringify(plainItem(start), undefined, 2));
  const trouble = useSignal('');

  const parsed = (): Attributes => (raw.value ? (JSON.parse(text.value) as Attributes) : itemOf(text.value));
  const turn = () => {
    try {
      const attributes = parsed();
      if (raw.value && !isTypedItem(attributes)) {
        trouble.value = 'This is not DynamoDB JSON: a value lacks its type.';
        return;
      }
      raw.value = !raw.value;
      text.value = JSON.stringify(raw.value ? attributes : plainItem(attributes), undefined, 2);
      trouble.value = '';
    } catch (error) {
      trouble.value = `This is not JSON: ${words(error)}`;
    }
  };
  const keyOf = (attributes: Attributes) => Object.fromEntries(table.keys.map(({ name }) => [name, attributes[name] ?? {}]));
  const send = async (operation: 'PutItem' | 'DeleteItem') => {
    try {
      const attributes = operation === 'PutItem' ? parsed() : start;
      const key = keyOf(attributes);
      const what = operation === 'PutItem' ? { Item: attributes } : { Key: key };
      const answer = (await app.request(operation, { TableName: table.name, ...what, ReturnValues: 'ALL_OLD' }, ownerOf(table))) as { Attributes?: Attributes };
      undo.value = [...undo.value, { table: table.name, owner: ownerOf(table), key, before: answer.Attributes }];
      onClose();
    } catch (error) {
      trouble.value = error instanceof SyntaxError ? `This is not JSON: ${error.message}` : words(error);
    }
  };
  const renamed = () => {
    try {
      return item !== undefined && keyText(keyOf(parsed())) !== keyText(item.key);
    } catch {
      return false;
    }
  };
  const size = item?.bytes ?? 0;
  const write = Math.max(1, Math.ceil(size / 1024));
  const read = Math.max(1, Math.ceil(size / 4096));
  return (
    <dialog ref={dialog} class="item-editor" aria-labelledby="item-title">
      <header>
        <h2 id="item-title">{item ? keyText(item.key) : `New item of ${table.name}`}</h2>
        <button type="button" class="small" onClick={onClose}>Close</button>
      </header>
      {item?.bytes !== undefined && (
        <p class="quiet">
          {bytes(size)} in partition {item.partition} · a write costs {units(write)} WCU, a strongly consistent read {units(read)} RCU · a million writes {dollars(write * PRICE.write)} on demand
        </p>
      )}
      <textarea autofocus aria-label={raw.value ? 'Item as DynamoDB JSON' : 'Item as JSON'} spellcheck={false} rows={14} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      <p class="quiet">{FORMS[raw.value ? 'typed' : 'plain']}</p>
      {trouble.value && <p class="trouble" role="alert">{trouble.value}</p>}
      <div class="tools">
        <button type="button" class="primary" onClick={() => void send('PutItem')}>{renamed() ? 'Save as a new item' : 'Save'}</button>
        {item && <button type="button" onClick={() => void send('DeleteItem')}>Delete</button>}
        <span class="spring" />
        <label class="check"><input type="checkbox" checked={raw.value} onChange={(event) => (turn(), (event.currentTarget.checked = raw.value))} /> DynamoDB JSON</label>
      </div>
    </dialog>
  );
}
