// All tables, and actions on a whole table.
import { useSignal } from '@preact/signals';
import type { App } from '../app';
import { allItems, exported, imported, writeItems } from '../bulk';
import type { TableView } from '../tables';
import { ownerOf, words } from '../transport/dynamodb';
import { bytes, count } from '../words';
import { CreateTable } from './create-table';
import { chosenFile, download } from './download';
import { Icon } from './icon';
import { useModal } from './modal';

export function TablesPanel({ app, onItems }: { app: App; onItems: () => void }) {
  const creating = useSignal(false);
  const doomed = useSignal<{ table: TableView; act: 'empty' | 'delete' } | undefined>(undefined);
  const busy = useSignal('');
  const trouble = useSignal('');
  const { list, current } = app.tables;
  const perform = async (what: string, work: () => Promise<unknown>) => {
    busy.value = what;
    trouble.value = '';
    try {
      await work();
    } catch (error) {
      trouble.value = words(error);
    }
    busy.value = '';
  };
  const save = (table: TableView) => perform(`Exporting ${table.name}…`, async () => download(`${table.name}.jsonl`, new Blob([exported(await allItems(app, table))], { type: 'application/jsonl' })));
  const load = (table: TableView, file: File | undefined) =>
    file && perform(`Importing into ${table.name}…`, async () => {
      const items = imported(await file.text());
      await writeItems(app, table, items.map((Item) => ({ PutRequest: { Item } })));
      app.news.value = `Imported ${count(items.length, 'item')} into ${table.name}.`;
    });
  const show = (table: TableView) => {
    app.tables.selected.value = table.id;
    onItems();
  };
  return (
    <div class="items">
      <div class="tools slim">
        <span class="quiet">{busy.value || count(list.value.length, 'table')}</span>
        <span class="spring" />
        <button type="button" class="primary" onClick={() => (creating.value = true)}><Icon name="plus" /> Create table</button>
      </div>
      {trouble.value && <p class="trouble" role="alert">{trouble.value}</p>}
      <div class="grid tables" tabIndex={0} role="region" aria-label="Tables">
        <table>
          <thead>
            <tr>
              <th scope="col">Table</th>
              <th scope="col">Keys</th>
              <th scope="col" class="number">Items</th>
              <th scope="col" class="number">Size</th>
              <th scope="col">Features</th>
              <th scope="col"><span class="unseen">Actions</span></th>
            </tr>
          </thead>
          <tbody>
            {list.value.map((table) => (
              <tr key={table.id} aria-current={table.id === current.value?.id}>
                <td class="name" title={app.tables.label(table)}><button type="button" class="link" onClick={() => show(table)}>{app.tables.label(table)}</button></td>
                <td>{table.keys.map(({ name, type }) => `${name} ${type}`).join(', ')}</td>
                <td class="number">{table.items.toLocaleString('en')}</td>
                <td class="number">{bytes(table.bytes)}</td>
                <td class="features" title={features(table)}>{features(table)}</td>
                <td class="actions">
                  <button type="button" class="small" disabled={busy.value !== ''} aria-label={`Export ${table.name}`} onClick={() => void save(table)}>Export</button>
                  <label class="button small" title="A file of items in plain JSON or DynamoDB JSON: one to a line, or an array. An item is DynamoDB JSON if each of its values has its type.">
                    Import
                    <input type="file" class="unseen" aria-label={`Import into ${table.name}`} disabled={busy.value !== ''} onChange={(event) => void load(table, chosenFile(event.currentTarget))} />
                  </label>
                  <button type="button" class="small" disabled={busy.value !== ''} aria-label={`Empty ${table.name}`} onClick={() => (doomed.value = { table, act: 'empty' })}>Empty</button>
                  <button type="button" class="small" disabled={busy.value !== ''} aria-label={`Delete ${table.name}`} onClick={() => (doomed.value = { table, act: 'delete' })}>Delete</button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {list.value.length === 0 && <p class="quiet empty">No tables yet.</p>}
      </div>
      {creating.value && <CreateTable app={app} onClose={() => (creating.value = false)} />}
      {doomed.value && <Confirm {...doomed.value} onClose={() => (doomed.value = undefined)} onConfirm={(table, act) => void perform(`${act === 'empty' ? 'Emptying' : 'Deleting'} ${table.name}…`, () => (act === 'empty' ? empty(app, table) : remove(app, table)))} />}
    </div>
  );
}

const features = ({ provisioned, indexes, ttl, stream, replicas, status }: TableView): string =>
  [
    status !== 'ACTIVE' && status,
    provisioned ? `${provisioned.read} RCU, ${provisioned.write} WCU` : 'on demand',
    indexes.length > 0 && count(indexes.length, 'index', 'indexes'),
    ttl && `expires by ${ttl}`,
    stream && 'stream',
    replicas.length > 0 && count(replicas.length, 'replica'),
  ].filter(Boolean).join(' · ');

async function empty(app: App, table: TableView): Promise<void> {
  const items = await allItems(app, table);
  const keyOf = (item: (typeof items)[number]) => Object.fromEntries(table.keys.map(({ name }) => [name, item[name] ?? {}]));
  await writeItems(app, table, items.map((item) => ({ DeleteRequest: { Key: keyOf(item) } })));
}

async function remove(app: App, table: TableView): Promise<void> {
  app.tables.hide([table.id]);
  try {
    await app.request('DeleteTable', { TableName: table.name }, ownerOf(table));
  } finally {
    app.tables.show([table.id]);
  }
}

function Confirm({ table, act, onConfirm, onClose }: { table: TableView; act: 'empty' | 'delete'; onConfirm: (table: TableView, act: 'empty' | 'delete') => void; onClose: () => void }) {
  const dialog = useModal(onClose);
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="confirm-title">
      <h2 id="confirm-title">{act === 'empty' ? `Delete all items of ${table.name}?` : `Delete the table ${table.name}?`}</h2>
      <p>{count(table.items, 'item')}, {bytes(table.bytes)}. This cannot be undone.</p>
      <div class="tools">
        <button type="button" class="primary" onClick={() => (onClose(), onConfirm(table, act))}>{act === 'empty' ? 'Delete all items' : 'Delete table'}</button>
        <button type="button" onClick={onClose}>Cancel</button>
      </div>
    </dialog>
  );
}
