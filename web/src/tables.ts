// The tables as the views show them: definition, heat, work that waits.
import { batch, computed, signal } from '@preact/signals';
import { APP_ACCOUNT, type App } from './app';
import { after, defined, type Definition, type TableBody } from './definitions';
import type { AttributeValue, Attributes, Heat, SeenRequest } from './transport/control';
import { call } from './transport/dynamodb';

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

export interface WaitingItem {
  due: string;
  action: string;
  key?: Attributes;
  token?: string;
}

export interface Waiting {
  count: number;
  next?: string;
  first: WaitingItem[];
}

export interface Pending {
  table: string;
  next?: string;
  /** When the table, or an index of it, is done that is being made. */
  statusChange?: string;
  timeToLive: Waiting;
  transactions: Waiting;
  streamRecords: Waiting;
  arrivals: Waiting;
  indexes: (Waiting & { index: string; paused: boolean })[];
}

export interface TableView {
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
}

const OPERATIONS_ON_TABLES = /^(CreateTable|UpdateTable|DeleteTable|UpdateTimeToLive)$/;
/** How many tables are looked at closely. */
const CLOSELY = 6;

export class Tables {
  readonly list = signal<TableView[]>([]);
  readonly selected = signal<string | undefined>(undefined);
  readonly current = computed(() => this.list.value.find(({ name }) => name === this.selected.value) ?? this.list.value[0]);
  /** Grows whenever items may have changed. */
  readonly version = signal(0);
  #dirty = true;
  /** Requests about tables that have not been looked at. */
  #changes: SeenRequest[] = [];
  #definitions = new Map<string, Definition>();
  #hidden = new Set<string>();

  constructor(readonly app: App) {
    app.feed.listen((request) => {
      if (OPERATIONS_ON_TABLES.test(request.operation) && request.status === 200) this.#changes.push(request);
    });
  }

  /** Shows tables no more that are about to be deleted: to read one that is gone would be an error in the browser's console. */
  hide(names: string[]): void {
    for (const name of names) this.#hidden.add(name);
    this.list.value = this.list.value.filter(({ name }) => !this.#hidden.has(name));
  }

  show(names: string[]): void {
    for (const name of names) this.#hidden.delete(name);
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
    const { control } = this.app;
    const entries = (await control.tables()).filter(({ table }) => !this.#hidden.has(table));
    for (const request of this.#changes.splice(0)) await this.#follow(request);
    const views: TableView[] = [];
    for (const [at, { table: name, accessKey, region, items, bytes }] of entries.entries()) {
      const definition = this.#definitions.get(name) ?? (await this.#describe(name, accessKey, region));
      if (!definition) continue;
      const view: TableView = { ...definition, name, accessKey, region, items, bytes, status: 'ACTIVE', heat: undefined, pending: undefined };
      if (at < CLOSELY || name === this.selected.value) {
        const path = `/tables/${encodeURIComponent(name)}`;
        [view.heat, view.pending] = await Promise.all([
          control.heat(name).catch(() => undefined),
          control.get<Pending>(`${path}/pending?limit=100`).catch(() => undefined),
        ]);
        if (view.pending?.statusChange) view.status = 'CREATING';
      }
      views.push(view);
    }
    batch(() => {
      this.list.value = views.filter(({ name }) => !this.#hidden.has(name));
      this.version.value += 1;
    });
  }

  // What a request has made of a table's definition.
  async #follow({ number, operation, tables: [table] }: SeenRequest): Promise<void> {
    if (!table) return;
    const { request } = await this.app.control.get<{ request?: { body: string; truncated: boolean } }>(`/requests/${number}`).catch(() => ({ request: undefined }));
    const body = request && !request.truncated ? (JSON.parse(request.body) as TableBody) : undefined;
    const definition = body && after(this.#definitions.get(table), operation, body);
    if (definition) this.#definitions.set(table, definition);
    else this.#definitions.delete(table);
  }

  async #describe(name: string, accessKey?: string, region?: string): Promise<Definition | undefined> {
    const { transport } = this.app;
    const account = accessKey && region ? { accessKey, region } : APP_ACCOUNT;
    try {
      const { Table: table } = await call<{ Table: TableBody }>(transport, account, 'DescribeTable', { TableName: name });
      const { TimeToLiveDescription: ttl } = await call<{ TimeToLiveDescription: { AttributeName?: string } }>(transport, account, 'DescribeTimeToLive', { TableName: name });
      const definition = { ...defined(table), ttl: ttl.AttributeName };
      this.#definitions.set(name, definition);
      return definition;
    } catch {
      return undefined;
    }
  }
}

export interface StoredItem {
  key: Attributes;
  token: string;
  partition: number;
  bytes: number;
  item: Record<string, AttributeValue>;
}

export interface ItemsPage {
  items: StoredItem[];
  next?: string;
}
