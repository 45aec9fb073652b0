// The tables as the views show them: definition, heat, pending work.
import { batch, computed, signal } from '@preact/signals';
import type { App } from './app';
import { after, defined, type Definition, type TableBody } from './definitions';
import type { Heat, Pending, Replication, RecordedRequest, TableEntry } from './transport/control';
import { APP_ACCOUNT, call, DEFAULT_ACCOUNT, type Account } from './transport/dynamodb';

export interface KeyPart {
  name: string;
  type: string;
}

export interface IndexView {
  name: string;
  kind: 'global' | 'local';
  keys: KeyPart[];
  projection: string;
  /** The other attributes that the index has, if its projection lists them. */
  included: string[];
  status: string | undefined;
}

export interface TableView {
  /** Distinguishes it from tables of the same name in other regions and accounts. */
  id: string;
  name: string;
  accessKey: string | undefined;
  region: string | undefined;
  items: number;
  bytes: number;
  status: string;
  keys: KeyPart[];
  indexes: IndexView[];
  /** Read and write units a second; on-demand without. */
  provisioned: { read: number; write: number } | undefined;
  /** The attribute that time to live looks at. */
  ttl: string | undefined;
  stream: string | undefined;
  heat: Heat | undefined;
  pending: Pending | undefined;
  /** Replication with the table's replicas in other regions. */
  replicas: Replication[];
}

const OPERATIONS_ON_TABLES = /^(CreateTable|UpdateTable|DeleteTable|UpdateTimeToLive)$/;
/** The number of tables whose heat and pending work are read. */
const DETAILED = 6;

export class Tables {
  readonly list = signal<TableView[]>([]);
  readonly selected = signal<string | undefined>(undefined);
  readonly current = computed(() => this.list.value.find(({ id }) => id === this.selected.value) ?? this.list.value.find(({ region }) => region === DEFAULT_ACCOUNT.region) ?? this.list.value[0]);
  /** Whether tables of more than one region or account are shown, so that a name alone is ambiguous. */
  readonly qualified = computed(() => new Set(this.list.value.map(({ accessKey, region }) => `${accessKey} ${region}`)).size > 1);
  /** Grows whenever items may have changed. */
  readonly version = signal(0);
  #dirty = true;
  /** Requests about tables that have not been looked at. */
  #changes: RecordedRequest[] = [];
  #definitions = new Map<string, Definition>();
  /** Tables without a known definition: in a tab, their requests may be yet to be read. */
  #unknown = new Set<string>();
  #hidden = new Set<string>();
  /** Whether all callers share their tables. */
  readonly shared = signal(false);

  constructor(readonly app: App) {
    app.feed.listen((request) => {
      if (OPERATIONS_ON_TABLES.test(request.operation) && request.status === 200) this.#changes.push(request);
    });
  }

  /** The displayed name of a table. */
  label({ name, region, accessKey }: TableView): string {
    if (!this.qualified.value) return name;
    const accounts = new Set(this.list.value.map((table) => table.accessKey)).size;
    return accounts > 1 ? `${name} (${accessKey}, ${region})` : `${name} (${region})`;
  }

  /** The table that a request of this account means by a name. */
  find(name: string, account: Account): TableView | undefined {
    return this.list.value.find(({ id }) => id === this.#id(name, account));
  }

  /** Selects the table that a request of this account means by a name. */
  select(name: string, account: Account): void {
    this.selected.value = this.#id(name, account);
  }

  #id(name: string, account: Account): string {
    return idOf(name, this.shared.value ? {} : account);
  }

  /** Removes tables from the list before they are deleted: a read of a deleted table would be an error in the browser's console. */
  hide(ids: string[]): void {
    for (const id of ids) this.#hidden.add(id);
    this.list.value = this.list.value.filter(({ id }) => !this.#hidden.has(id));
  }

  show(ids: string[]): void {
    for (const id of ids) this.#hidden.delete(id);
    this.touch();
  }

  /** Something may have changed: the next refresh looks. */
  touch(): void {
    this.#dirty = true;
  }

  clear(): void {
    this.#dirty = true;
    this.list.value = [];
    this.#changes = [];
    this.#unknown.clear();
    this.#definitions.clear();
  }

  /** What is known of the tables' definitions, to be kept with a snapshot of them. */
  get definitions(): [string, Definition][] {
    return [...this.#definitions];
  }

  /** Takes over the definitions that were kept with a snapshot. */
  adopt(definitions: [string, Definition][]): void {
    this.#definitions = new Map(definitions);
    this.#dirty = true;
  }

  async refresh(): Promise<void> {
    if (!this.#dirty) return;
    this.#dirty = false;
    const all = await this.app.control.tables();
    const entries = all.map((entry) => ({ ...entry, id: idOf(entry.table, entry) })).filter(({ id }) => !this.#hidden.has(id));
    for (const request of this.#changes.splice(0)) await this.#follow(request);
    const views: TableView[] = [];
    for (const [at, entry] of entries.entries()) {
      const view = await this.#view(entry, at < DETAILED || entry.id === this.selected.value, isReplicated(entry, entries));
      if (view) views.push(view);
    }
    batch(() => {
      this.list.value = views.filter(({ id }) => !this.#hidden.has(id));
      this.version.value += 1;
    });
  }

  async #view({ id, table: name, accessKey, region, status, items, bytes }: TableEntry & { id: string }, detailed: boolean, replicated: boolean): Promise<TableView | undefined> {
    const account = accessKey && region ? { accessKey, region } : APP_ACCOUNT;
    const definition = this.#definitions.get(id) ?? (this.app.isTab ? this.#ofReplica(id) : undefined) ?? (this.#isNew(id) ? undefined : await this.#describe(id, name, account));
    if (!definition) return undefined;
    const view: TableView = { ...definition, id, name, accessKey, region, items, bytes, status, heat: undefined, pending: undefined, replicas: [] };
    if (!detailed) return view;
    const control = this.app.control.of(account);
    [view.heat, view.pending, view.replicas] = await Promise.all([
      control.heat(name).catch(() => undefined),
      control.pending(name).catch(() => undefined),
      replicated ? control.replication(name).catch(() => []) : [],
    ]);
    return view;
  }

  // The definition of a table, and of its replicas, after a request.
  async #follow({ number, operation, tables: [table], caller }: RecordedRequest): Promise<void> {
    if (!table) return;
    const request = (await this.app.control.request(number).catch(() => undefined))?.request;
    const body = request && !request.truncated ? (JSON.parse(request.body) as TableBody) : undefined;
    const id = this.#id(table, caller);
    const replicas = operation === 'UpdateTable' || operation === 'UpdateTimeToLive' ? this.#replicasOf(id) : [];
    for (const one of [id, ...replicas]) {
      const definition = body && after(this.#definitions.get(one), operation, body);
      if (definition) this.#definitions.set(one, definition);
      else this.#definitions.delete(one);
    }
  }

  /** Whether a table in a tab is seen for the first time: the next refresh may know its definition from a request, without one of the app's own. */
  #isNew(id: string): boolean {
    if (!this.app.isTab || this.#unknown.has(id)) return false;
    this.#unknown.add(id);
    this.touch();
    return true;
  }

  #replicasOf(id: string): string[] {
    const [accessKey, region, name] = id.split(' ');
    return [...this.#definitions.keys()].filter((other) => {
      const [owner, where, what] = other.split(' ');
      return owner === accessKey && what === name && where !== region;
    });
  }

  /** The definition of a replica in another region, which a new replica has too. */
  #ofReplica(id: string): Definition | undefined {
    const [replica] = this.#replicasOf(id);
    const definition = replica === undefined ? undefined : this.#definitions.get(replica);
    if (definition) this.#definitions.set(id, definition);
    return definition;
  }

  async #describe(id: string, name: string, account: Account): Promise<Definition | undefined> {
    const { transport } = this.app;
    try {
      const { Table: table } = await call<{ Table: TableBody }>(transport, account, 'DescribeTable', { TableName: name });
      const { TimeToLiveDescription: ttl } = await call<{ TimeToLiveDescription: { AttributeName?: string } }>(transport, account, 'DescribeTimeToLive', { TableName: name });
      const definition = { ...defined(table), ttl: ttl.AttributeName };
      this.#definitions.set(id, definition);
      return definition;
    } catch {
      return undefined;
    }
  }
}

/** Distinguishes a table from those of other accounts and regions, unless all callers share their tables. */
export const idOf = (name: string, { accessKey, region }: { accessKey?: string | undefined; region?: string | undefined }): string => (accessKey && region ? `${accessKey} ${region} ${name}` : name);

/** The index of a table with a name that may have been chosen for another table. */
export const indexOf = ({ indexes }: TableView, name: string): IndexView | undefined => indexes.find((index) => index.name === name);

/** Whether a table of an account exists in more than one region. */
function isReplicated({ table, accessKey, region }: TableEntry, all: TableEntry[]): boolean {
  return all.some((other) => other.table === table && other.accessKey === accessKey && other.region !== region);
}
