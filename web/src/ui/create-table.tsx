// The form for a new table.
import { useSignal } from '@preact/signals';
import type { App } from '../app';
import { words } from '../transport/dynamodb';
import { Icon } from './icon';
import { useModal } from './modal';

interface KeyFields {
  hash: string;
  hashType: string;
  range: string;
  rangeType: string;
}

interface IndexFields extends KeyFields {
  kind: 'global' | 'local';
  name: string;
  projection: string;
  /** The attributes that are projected besides keys, separated by commas. */
  included: string;
}

interface Fields extends KeyFields {
  name: string;
  provisioned: boolean;
  read: string;
  write: string;
  ttl: string;
  stream: string;
  indexes: IndexFields[];
  accessKey: string;
  region: string;
}

const KEYS: KeyFields = { hash: '', hashType: 'S', range: '', rangeType: 'S' };
const TYPES: [string, string][] = [['S', 'string'], ['N', 'number'], ['B', 'binary']];
const VIEWS = ['NEW_AND_OLD_IMAGES', 'NEW_IMAGE', 'OLD_IMAGE', 'KEYS_ONLY'];

const schema = ({ hash, range }: KeyFields) => [{ AttributeName: hash, KeyType: 'HASH' }, ...(range ? [{ AttributeName: range, KeyType: 'RANGE' }] : [])];

const projection = ({ projection: ProjectionType, included }: IndexFields) => ({
  ProjectionType,
  ...(ProjectionType === 'INCLUDE' ? { NonKeyAttributes: included.split(',').map((name) => name.trim()).filter(Boolean) } : {}),
});

function creation({ name, provisioned, read, write, stream, indexes, ...keys }: Fields): Record<string, unknown> {
  const types = new Map<string, string>();
  const placed = indexes.map((index) => (index.kind === 'local' ? { ...index, hash: keys.hash, hashType: keys.hashType } : index));
  for (const { hash, hashType, range, rangeType } of [keys, ...placed]) {
    types.set(hash, types.get(hash) ?? hashType);
    if (range) types.set(range, types.get(range) ?? rangeType);
  }
  const throughput = provisioned ? { ProvisionedThroughput: { ReadCapacityUnits: Number(read), WriteCapacityUnits: Number(write) } } : {};
  const ofKind = (kind: IndexFields['kind'], more: object) => placed.filter((index) => index.kind === kind).map((index) => ({ IndexName: index.name, KeySchema: schema(index), Projection: projection(index), ...more }));
  const globals = ofKind('global', throughput);
  const locals = ofKind('local', {});
  return {
    TableName: name,
    BillingMode: provisioned ? 'PROVISIONED' : 'PAY_PER_REQUEST',
    ...throughput,
    AttributeDefinitions: Array.from(types, ([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
    KeySchema: schema(keys),
    ...(globals.length > 0 ? { GlobalSecondaryIndexes: globals } : {}),
    ...(locals.length > 0 ? { LocalSecondaryIndexes: locals } : {}),
    ...(stream ? { StreamSpecification: { StreamEnabled: true, StreamViewType: stream } } : {}),
  };
}

export function CreateTable({ app, onClose }: { app: App; onClose: () => void }) {
  const dialog = useModal(onClose);
  const fields = useSignal<Fields>({ name: '', ...KEYS, hash: 'PK', range: 'SK', provisioned: false, read: '5', write: '5', ttl: '', stream: '', indexes: [], ...app.account.value });
  const trouble = useSignal('');
  const set = (change: Partial<Fields>) => (fields.value = { ...fields.value, ...change });
  const { name, provisioned, read, write, ttl, stream, indexes, accessKey, region } = fields.value;
  const setIndex = (at: number, change: Partial<IndexFields>) => set({ indexes: indexes.map((index, other) => (other === at ? { ...index, ...change } : index)) });
  const create = async () => {
    const account = { accessKey, region };
    try {
      await app.request('CreateTable', creation(fields.value), account);
      app.tables.select(name, account);
      if (ttl) await enableTtl(app, name, ttl, account);
      onClose();
    } catch (error) {
      trouble.value = words(error);
    }
  };
  return (
    <dialog ref={dialog} class="create-table" aria-labelledby="create-title">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <header>
          <h2 id="create-title">New table</h2>
          <button type="button" class="small" onClick={onClose}>Close</button>
        </header>
        <label class="field">
          <span>Name</span>
          <input autofocus required spellcheck={false} value={name} onInput={(event) => set({ name: event.currentTarget.value.trim() })} />
        </label>
        <KeyInputs of="" keys={fields.value} onChange={set} />
        <div class="field">
          <span>Capacity</span>
          <select aria-label="Capacity" value={provisioned ? 'provisioned' : ''} onChange={(event) => set({ provisioned: event.currentTarget.value !== '' })}>
            <option value="">on demand</option>
            <option value="provisioned">provisioned</option>
          </select>
          {provisioned && (
            <>
              <label class="line">read <input type="number" min="1" required value={read} onInput={(event) => set({ read: event.currentTarget.value })} /></label>
              <label class="line">write <input type="number" min="1" required value={write} onInput={(event) => set({ write: event.currentTarget.value })} /></label>
            </>
          )}
        </div>
        <label class="field">
          <span>Time to live</span>
          <input spellcheck={false} placeholder="attribute, none if empty" value={ttl} onInput={(event) => set({ ttl: event.currentTarget.value.trim() })} />
        </label>
        <label class="field">
          <span>Stream</span>
          <select value={stream} onChange={(event) => set({ stream: event.currentTarget.value })}>
            <option value="">off</option>
            {VIEWS.map((view) => <option key={view}>{view}</option>)}
          </select>
        </label>
        {indexes.map((index, at) => (
          <fieldset key={at}>
            <legend>{index.kind === 'global' ? 'Global' : 'Local'} index {at + 1} <button type="button" class="small" onClick={() => set({ indexes: indexes.filter((_, other) => other !== at) })}>Remove</button></legend>
            <label class="field">
              <span>Name</span>
              <input required spellcheck={false} value={index.name} onInput={(event) => setIndex(at, { name: event.currentTarget.value.trim() })} />
            </label>
            <KeyInputs of={` of index ${at + 1}`} keys={index} local={index.kind === 'local'} onChange={(change) => setIndex(at, change)} />
            <label class="field">
              <span>Projection</span>
              <select value={index.projection} onChange={(event) => setIndex(at, { projection: event.currentTarget.value })}>
                <option>ALL</option>
                <option>KEYS_ONLY</option>
                <option>INCLUDE</option>
              </select>
              {index.projection === 'INCLUDE' && <input required aria-label={`Projected attributes of index ${at + 1}`} placeholder="attributes, separated by commas" spellcheck={false} value={index.included} onInput={(event) => setIndex(at, { included: event.currentTarget.value })} />}
            </label>
          </fieldset>
        ))}
        {!app.tables.shared.value && (
          <div class="field">
            <span>{app.isTab ? 'Region' : 'Owner'}</span>
            {!app.isTab && <label class="line">access key <input required spellcheck={false} value={accessKey} onInput={(event) => set({ accessKey: event.currentTarget.value.trim() })} /></label>}
            <label class="line">{app.isTab ? <span class="unseen">region</span> : 'region'} <input required spellcheck={false} value={region} onInput={(event) => set({ region: event.currentTarget.value.trim() })} /></label>
          </div>
        )}
        {!app.tables.shared.value && !app.isTab && <p class="quiet">Each access key and region has its own tables. Enter those that your application uses.</p>}
        {trouble.value && <p class="trouble" role="alert">{trouble.value}</p>}
        <div class="tools">
          <button type="submit" class="primary">Create table</button>
          {(['global', 'local'] as const).map((kind) => (
            <button key={kind} type="button" onClick={() => set({ indexes: [...indexes, { ...KEYS, kind, name: '', projection: 'ALL', included: '' }] })}><Icon name="plus" /> Add {kind} index</button>
          ))}
        </div>
      </form>
    </dialog>
  );
}

function KeyInputs({ of, keys, local = false, onChange }: { of: string; keys: KeyFields; local?: boolean; onChange: (change: Partial<KeyFields>) => void }) {
  const type = (label: string, value: string, change: (type: string) => void) => (
    <select aria-label={`Type of ${label}${of}`} value={value} onChange={(event) => change(event.currentTarget.value)}>
      {TYPES.map(([letter, word]) => <option key={letter} value={letter}>{word}</option>)}
    </select>
  );
  return (
    <>
      {!local && (
        <div class="field">
          <span>Partition key</span>
          <input required aria-label={`Partition key${of}`} spellcheck={false} value={keys.hash} onInput={(event) => onChange({ hash: event.currentTarget.value.trim() })} />
          {type('the partition key', keys.hashType, (hashType) => onChange({ hashType }))}
        </div>
      )}
      <div class="field">
        <span>Sort key</span>
        <input required={local} aria-label={`Sort key${of}`} placeholder={local ? '' : 'none if empty'} spellcheck={false} value={keys.range} onInput={(event) => onChange({ range: event.currentTarget.value.trim() })} />
        {type('the sort key', keys.rangeType, (rangeType) => onChange({ rangeType }))}
      </div>
    </>
  );
}

// Time to live can be enabled once the table is active.
async function enableTtl(app: App, TableName: string, AttributeName: string, account: { accessKey: string; region: string }): Promise<void> {
  const body = { TableName, TimeToLiveSpecification: { Enabled: true, AttributeName } };
  for (let attempt = 0; ; attempt += 1) {
    try {
      await app.request('UpdateTimeToLive', body, account);
      return;
    } catch (error) {
      if (attempt === 60 || !words(error).startsWith('ResourceInUse') && !words(error).startsWith('ResourceNotFound')) throw error;
      if (app.time.settable.value && app.controlled.value) await app.time.advance(1_000);
      else await new Promise((done) => setTimeout(done, 1_000));
    }
  }
}
