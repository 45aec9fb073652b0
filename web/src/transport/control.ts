// The control API under `/_dynatwin/`, typed (see docs/control.md).
import { signedHeaders, type Account } from './dynamodb';
import { textOf, type Headers, type Reply, type Transport } from './transport';

export type Lag = number | { typical: number; p99?: number; longest: number };
export type AttributeValue = Record<string, unknown>;
export type Attributes = Record<string, AttributeValue>;

export interface Enforcement {
  burst: number;
  adaptive: boolean;
  partitionRead: number;
  partitionWrite: number;
  partitionSize: number;
  heatSplit: number | 'never';
  growth: number;
  shardReaders: number;
}

export interface Conditions {
  timeToLive: 'off' | Lag;
  indexPropagation: Lag;
  readStaleness: Lag;
  staleReads: number;
  monotonicReads: boolean;
  transactionTime: Lag;
  replicationLag: Lag;
  regionRoundTrip: Lag;
  streamLag: Lag;
  tableStatus: Lag;
  capacity: 'reported' | Enforcement;
  controlLimits: boolean;
  latency: 'none' | Record<string, Lag>;
  internalErrors: number;
  throttles: number;
}

export type ConditionsChange = 'calm' | 'aws' | 'storm' | (Record<string, unknown> & { base?: string });

export interface ClockState {
  nextDue?: string;
  now: string;
  milliseconds: number;
  settable: boolean;
  frozen: boolean;
  speed: number;
}

export interface Overview {
  version: string;
  seed: string;
  sharedTables: boolean;
  controlled: boolean;
  clock: ClockState;
  conditions: Conditions;
  watched: boolean;
}

export interface TableEntry {
  table: string;
  accessKey?: string;
  region?: string;
  items: number;
  bytes: number;
}

export interface FaultReport {
  id: number;
  rule: string;
  told: Record<string, unknown>;
  outage?: string;
  matched: number;
  fired: number;
}

/** Replication between a table and its replica in a region. */
export interface Replication {
  region: string;
  paused: boolean;
  /** Changes on their way from there, and to there. */
  arriving: number;
  leaving: number;
  lag?: Lag;
}

export interface Touch {
  act: string;
  table: string;
  index?: string;
  key: Attributes;
  readUnits: number;
  writeUnits: number;
  error?: string;
}

export interface SeenRequest {
  number: number;
  at: string;
  caller: Account;
  operation: string;
  tables: string[];
  touches: Touch[];
  status: number;
  error?: string;
  delivery: { kind: string };
  readUnits: number;
  writeUnits: number;
  scanned: number;
  returned: number;
}

/** How full a token bucket is. */
export interface Level {
  left: number;
  size: number;
  rate: number;
}

export interface Direction extends Level {
  units: number;
  /** The bucket of the configured maximum of on-demand throughput. */
  maximum?: Level;
  throttles: Record<string, number>;
}

export interface HeatPartition {
  first: string;
  last: string;
  bytes: number;
  read: { units: number; throttles: number };
  write: { units: number; throttles: number };
}

export interface Resource {
  index?: string;
  read: Direction;
  write: Direction;
  partitions: HeatPartition[];
}

export interface Heat {
  resources: Resource[];
  keys: { key: AttributeValue; units: number }[];
}

/** A read that would have read less (see `GET /_dynatwin/requests/{number}/explain`). */
export interface BetterRead {
  operation: 'Query' | 'GetItem';
  table: string;
  index?: string;
  key: string[];
  projectsAll: boolean;
  canBeConsistent: boolean;
  sentence: string;
}

export interface ExplainedEntry {
  act: string;
  table: string;
  index?: string;
  sentences: string[];
  better: BetterRead[];
}

/** Why a request cost what it cost and ended as it did. */
export interface Explanation {
  sentences: string[];
  scanned: number;
  returned: number;
  entries: ExplainedEntry[];
}

export const EXPRESSION_KINDS = ['FilterExpression', 'KeyConditionExpression', 'ConditionExpression', 'UpdateExpression', 'ProjectionExpression'] as const;
export type ExpressionKind = (typeof EXPRESSION_KINDS)[number];

export interface Expression {
  kind: ExpressionKind;
  text: string;
  names?: Record<string, string>;
  values?: Attributes;
}

/** A part of an expression; a value without `value` is not defined. */
export interface ExpressionNode {
  depth: number;
  logic?: 'AND' | 'OR' | 'NOT';
  operator?: string;
  action?: string;
  path?: string;
  value?: AttributeValue;
  start: number;
  end: number;
}

export interface ExpressionItem {
  key: Attributes;
  holds?: boolean;
  parts: { holds?: boolean; value?: AttributeValue; absent?: boolean }[];
}

export interface ExplainedExpression {
  error?: string;
  at?: { start: number; end: number };
  nodes: ExpressionNode[];
  items: ExpressionItem[];
}

/** A control that was refused, in a sentence. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export class Control {
  /** `account` owns the tables that requests name; without it, any account that has a table of the name does. */
  constructor(
    readonly transport: Transport,
    readonly account?: Account,
  ) {}

  /** The controls of an account's tables. */
  of(account: Account): Control {
    return new Control(this.transport, account);
  }

  overview = () => this.#get<Overview>('/');
  clock = () => this.#get<ClockState>('/clock');
  setClock = (milliseconds: number) =>
    this.#send<ClockState>('PUT', '/clock', { now: new Date(milliseconds).toISOString() });
  advance = (seconds: number) => this.#send<ClockState>('POST', '/clock/advance', { seconds });
  setConditions = (change: ConditionsChange) => this.#send<Conditions>('PUT', '/conditions', change);
  tables = () => this.#get<TableEntry[]>('/tables');
  faults = () => this.#get<{ rules: FaultReport[] }>('/faults').then(({ rules }) => rules);
  addFault = (rule: Record<string, unknown>) => this.#send<FaultReport>('POST', '/faults', rule);
  startOutage = (outage: Record<string, unknown>) => this.#send('POST', '/outages', outage);
  removeFault = (id: number) => this.#send('DELETE', `/faults/${id}`);
  watch = () => this.#send('POST', '/watch', { bodies: true, events: true });
  heat = (table: string) => this.#get<Heat>(`/tables/${encodeURIComponent(table)}/heat`);
  pauseIndex = (table: string, index: string) => this.#send('POST', this.#index(table, index, 'pause'));
  resumeIndex = (table: string, index: string) => this.#send('POST', this.#index(table, index, 'resume'));
  replication = (table: string) => this.#get<Replication[]>(`/tables/${encodeURIComponent(table)}/replication`);
  pauseReplication = (table: string, region: string) => this.#send('POST', `/tables/${encodeURIComponent(table)}/replication/${region}/pause`);
  resumeReplication = (table: string, region: string) => this.#send('POST', `/tables/${encodeURIComponent(table)}/replication/${region}/resume`);
  expireNow = (table: string) => this.#send('POST', `/tables/${encodeURIComponent(table)}/expire-now`);

  /** The tables, items, conditions and the clock's moment as bytes. */
  snapshot = () => this.#handled('GET', '/snapshot').then(({ body }) => body);
  restore = (bytes: Uint8Array) => this.#handled('PUT', '/snapshot', bytes, 'application/octet-stream');
  explain = (request: number) => this.#get<Explanation>(`/requests/${request}/explain`);

  /** Explains an expression, and evaluates it for some items of a table or index. */
  explainExpression({ kind, text, names, values }: Expression, table: string, index = '', limit = 20): Promise<ExplainedExpression> {
    const query = new URLSearchParams({ kind, expression: text, limit: String(limit) });
    if (names && Object.keys(names).length > 0) query.set('names', JSON.stringify(names));
    if (values && Object.keys(values).length > 0) query.set('values', JSON.stringify(values));
    if (index) query.set('index', index);
    return this.#get(`/tables/${encodeURIComponent(table)}/expression?${query}`);
  }

  async get<T>(path: string): Promise<T> {
    return this.#get<T>(path);
  }

  async send<T>(method: string, path: string, body?: unknown): Promise<T> {
    return this.#send<T>(method, path, body);
  }

  #index(table: string, index: string, act: string): string {
    return `/tables/${encodeURIComponent(table)}/indexes/${encodeURIComponent(index)}/${act}`;
  }

  #get<T>(path: string): Promise<T> {
    return this.#send<T>('GET', path);
  }

  async #send<T>(method: string, path: string, body?: unknown): Promise<T> {
    const said = textOf(await this.#handled(method, path, body === undefined ? undefined : JSON.stringify(body)));
    return (said ? JSON.parse(said) : {}) as T;
  }

  async #handled(method: string, path: string, body?: string | Uint8Array, type = 'application/json'): Promise<Reply> {
    const headers: Headers = this.account ? signedHeaders(this.account) : {};
    if (body !== undefined) headers['content-type'] = type;
    const reply = await this.transport.handle(method, `/_dynatwin${path}`, headers, body);
    if (reply.status < 400) return reply;
    const { error } = JSON.parse(textOf(reply) || '{}') as { error?: string };
    throw new Refused(error ?? `HTTP ${reply.status}`, reply.status);
  }
}
