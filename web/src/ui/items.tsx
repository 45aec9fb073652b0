// The items of a table: a virtual list over pages, and an editor for one item.
import { signal, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ownerOf, words, type App } from '../app';
import type { Attributes } from '../transport/control';
import type { Account } from '../transport/dynamodb';
import type { ItemsPage, StoredItem, TableView } from '../tables';
import { brief, keyText, plainItem, typedItem } from '../value';
import { bytes, count, dollars, PRICE, units } from '../words';
import { Icon } from './icon';
import { TableChoice } from './table-choice';

const ROW = 34;
const PAGE = 500;

/** Changes that can be taken back: what was there before, the latest last. */
interface Change {
  table: string;
  owner: Account;
  key: Attributes;
  before: Attributes | undefined;
}
const undo = signal<Change[]>([]);

export function ItemsPanel({ app }: { app: App }) {
  const table = app.tables.current.value;
  const index = useSignal('');
  const edited = useSignal<{ table: string; item: StoredItem | undefined } | undefined>(undefined);
  const trouble = useSignal('');
  if (!table) return <p class="quiet empty">No tables yet.</p>;
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
          <select value={index.value} onChange={(event) => (index.value = event.currentTarget.value)}>
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
      <ItemList key={`${table.id} ${index.value}`} app={app} table={table} index={index.value} onOpen={(item) => (edited.value = { table: table.name, item })} />
      {edited.value && <ItemEditor app={app} table={table} item={edited.value.item} onClose={() => (edited.value = undefined)} />}
    </div>
  );
}

/** Pages that have been read, each with the cursor it begins at. */
interface Loaded {
  after: string | undefined;
  items: StoredItem[];
  next: string | undefined;
}

function ItemList({ app, table, index, onOpen }: { app: App; table: TableView; index: string; onOpen: (item: StoredItem) => void }) {
  const scroller = useRef<HTMLDivElement>(null);
  const [pages, setPages] = useState<Loaded[]>([]);
  const [view, setView] = useState({ top: 0, height: 320 });
  const busy = useRef(false);
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef<Loaded[]>([]);
  latest.current = pages;

  const read = async (after: string | undefined): Promise<Loaded> => {
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (after) query.set('after', after);
    if (index) query.set('index', index);
    const page = await app.control.of(ownerOf(table)).get<ItemsPage>(`/tables/${encodeURIComponent(table.name)}/items?${query}`);
    return { after, items: page.items, next: page.next };
  };

  // Reads the pages on the screen again, and as many behind them as the screen shows.
  const refresh = async () => {
    if (busy.current) return;
    busy.current = true;
    try {
      const old = latest.current;
      const fresh: Loaded[] = [];
      const end = (scroller.current?.scrollTop ?? 0) + (scroller.current?.clientHeight ?? 320) + 10 * ROW;
      let rows = 0;
      let after: string | undefined;
      for (let at = 0; ; at += 1) {
        const known = old[at];
        const above = known && known.after === after && known.next !== undefined && (rows + known.items.length) * ROW < (scroller.current?.scrollTop ?? 0) - 10 * ROW;
        const page = above ? known : await read(after);
        fresh.push(page);
        rows += page.items.length;
        after = page.next;
        if (!page.next || rows * ROW > end) break;
      }
      // What lies behind stays, if the pages before it still lead there.
      const rest = old.slice(fresh.length);
      if (after !== undefined && rest[0]?.after === after) fresh.push(...rest);
      setPages(fresh);
    } catch {
      setPages([]);
    } finally {
      busy.current = false;
    }
  };

  const version = app.tables.version.value;
  useEffect(() => {
    if (soon.current !== undefined) return;
    soon.current = setTimeout(() => ((soon.current = undefined), void refresh()), latest.current.length === 0 ? 0 : 150);
  }, [version, table.id, index]);
  useEffect(() => () => clearTimeout(soon.current), []);

  const rows = useMemo(() => pages.flatMap(({ items }) => items), [pages]);
  const total = pages.at(-1)?.next === undefined ? rows.length : Math.max(rows.length, index ? 0 : table.items);
  const from = Math.max(0, Math.floor(view.top / ROW) - 6);
  const shown = rows.slice(from, from + Math.ceil(view.height / ROW) + 12);
  const keys = [...table.keys, ...(table.indexes.find(({ name }) => name === index)?.keys ?? [])].filter((key, at, all) => all.findIndex(({ name }) => name === key.name) === at);

  const scrolled = (element: HTMLElement) => {
    setView({ top: element.scrollTop, height: element.clientHeight });
    const loaded = latest.current.reduce((sum, { items }) => sum + items.length, 0);
    if (latest.current.at(-1)?.next !== undefined && (element.scrollTop + element.clientHeight + 10 * ROW) / ROW > loaded) void refresh();
  };

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setView({ top: element.scrollTop, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  return (
    <div class="grid" ref={scroller} onScroll={(event) => scrolled(event.currentTarget)} tabIndex={0} role="region" aria-label={`Items of ${table.name}`}>
      <table aria-rowcount={total + 1}>
        <thead>
          <tr>
            {keys.map(({ name }) => <th key={name} scope="col">{name}</th>)}
            <th scope="col">Other attributes</th>
            <th scope="col" class="number">Size</th>
            <th scope="col" class="number">Partition</th>
          </tr>
        </thead>
        <tbody>
          {from > 0 && <tr aria-hidden="true" style={{ height: `${from * ROW}px` }} />}
          {shown.map((stored, at) => (
            <Row key={keyText(stored.key)} stored={stored} keys={keys.map(({ name }) => name)} first={rows[from + at - 1]?.token !== stored.token} ttl={table.ttl} now={app.now.value} onOpen={() => onOpen(stored)} />
          ))}
          {total > from + shown.length && <tr aria-hidden="true" style={{ height: `${(total - from - shown.length) * ROW}px` }} />}
        </tbody>
      </table>
      {total === 0 && <p class="quiet empty">No items.</p>}
    </div>
  );
}

function Row({ stored, keys, first, ttl, now, onOpen }: { stored: StoredItem; keys: string[]; first: boolean; ttl: string | undefined; now: number; onOpen: () => void }) {
  const { item } = stored;
  const expires = ttl && item[ttl] && 'N' in item[ttl] ? Number(item[ttl]['N']) * 1000 : undefined;
  const expired = expires !== undefined && expires <= now;
  // Short values first: a long one would hide what comes after it.
  const others = Object.entries(item)
    .filter(([name]) => !keys.includes(name))
    .map(([name, value]) => ({ name, text: brief(value) }))
    .sort((one, other) => Math.min(one.text.length, 60) - Math.min(other.text.length, 60));
  return (
    <tr data-first={first} data-expired={expired}>
      {keys.map((name, at) => (
        <td key={name}>
          {at === 0 ? <button type="button" class="link" onClick={onOpen}>{brief(item[name])}</button> : brief(item[name])}
        </td>
      ))}
      <td class="others">
        {expired && <b class="tag">expired</b>}
        {others.slice(0, 8).map(({ name, text }) => (
          <span key={name}><i>{name}</i> {text.slice(0, 60)}</span>
        ))}
      </td>
      <td class="number">{bytes(stored.bytes)}</td>
      <td class="number">{stored.partition}</td>
    </tr>
  );
}

function ItemEditor({ app, table, item, onClose }: { app: App; table: TableView; item: StoredItem | undefined; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const raw = useSignal(false);
  const start = item?.item ?? Object.fromEntries(table.keys.map(({ name, type }) => [name, { [type]: type === 'N' ? '0' : '' }]));
  const text = useSignal(JSON.stringify(plainItem(start), undefined, 2));
  const trouble = useSignal('');
  useEffect(() => dialog.current?.showModal(), []);

  const parsed = (): Attributes => {
    const value = JSON.parse(text.value) as Record<string, unknown>;
    return raw.value ? (value as Attributes) : typedItem(value);
  };
  const turn = () => {
    try {
      const attributes = parsed();
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
  const size = item?.bytes ?? 0;
  const write = Math.max(1, Math.ceil(size / 1024));
  const read = Math.max(1, Math.ceil(size / 4096));
  return (
    <dialog ref={dialog} class="item-editor" aria-labelledby="item-title" onClose={onClose}>
      <header>
        <h2 id="item-title">{item ? keyText(item.key) : `New item of ${table.name}`}</h2>
        <button type="button" class="small" onClick={onClose}>Close</button>
      </header>
      {item && (
        <p class="quiet">
          {bytes(size)} in partition {item.partition} · a write costs {units(write)} WCU, a strongly consistent read {units(read)} RCU · a million writes {dollars(write * PRICE.write)} on demand
        </p>
      )}
      <textarea aria-label={raw.value ? 'Item as DynamoDB JSON' : 'Item as JSON'} spellcheck={false} rows={14} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      {trouble.value && <p class="trouble" role="alert">{trouble.value}</p>}
      <div class="tools">
        <button type="button" class="primary" onClick={() => void send('PutItem')}>Save</button>
        {item && <button type="button" onClick={() => void send('DeleteItem')}>Delete</button>}
        <span class="spring" />
        <label class="check"><input type="checkbox" checked={raw.value} onChange={turn} /> DynamoDB JSON</label>
      </div>
    </dialog>
  );
}
