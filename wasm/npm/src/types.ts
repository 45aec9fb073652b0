// The types of options and results.
import type { Dynatwin } from './twin.js';

/**
 * What `ready` accepts: the module `dynatwin/dynatwin.wasm` as a `WebAssembly.Module`, an `ArrayBuffer`, a typed array or a
 * `Response`, or the URL to fetch it from. (A `WebAssembly.Module` has no members, so its type is that of any object.)
 */
export type ModuleSource = object | string;

/** The account and region of a request: each has its own tables. The default is `dynatwin` in `us-east-1`. */
export interface Caller {
  accessKey?: string;
  region?: string;
}

/**
 * The clock of a twin:
 * - `'system'`: the machine's time; `advance` runs ahead of it;
 * - `'settable'`: stands still at 2026-01-01T00:00:00Z until it is moved, or a delay passes on it;
 * - `'polling'`: a settable clock that a client moves by polling, see `Clock.polling`;
 * - a moment: stands still there;
 * - `{ start?, speed? }`: runs from `start` (now), `speed` times as fast as the machine's (1).
 */
export type ClockOption =
  | 'system'
  | 'settable'
  | 'polling'
  | (string & {})
  | Date
  | { start?: string | Date; speed?: number };

/**
 * How long after something is due it happens: seconds, or half of all within `typical` and the rest up to `longest`; with
 * `p99`, a long tail.
 */
export type Lag = number | { typical: number; p99?: number; longest: number };

/** How long requests take, by the class of their operation and their size; what is left out is the service's, or as it was. */
export interface Latency {
  /** GetItem, BatchGetItem, GetShardIterator and GetRecords. */
  read: Lag;
  /** PutItem, UpdateItem, DeleteItem and BatchWriteItem. */
  write: Lag;
  /** Query, Scan, SearchVectors, ExecuteStatement and BatchExecuteStatement. */
  query: Lag;
  /** TransactGetItems, TransactWriteItems and ExecuteTransaction. */
  transaction: Lag;
  /** All other operations. */
  control: Lag;
  /** The seconds that each kilobyte of request and answer adds. */
  perKilobyte: number;
}

/** How capacity is enforced; what is left out is as the service does it, or as it was. */
export interface Enforcement {
  /** For how many seconds unused provisioned capacity is kept. */
  burst: number;
  /** Whether a hot partition takes what the others leave. */
  adaptive: boolean;
  /** Read units a second that a partition serves at most. */
  partitionRead: number;
  /** Write units a second that a partition serves at most. */
  partitionWrite: number;
  /** The bytes after which a partition is split. */
  partitionSize: number;
  /** For how many seconds a partition is asked for too much before it is split. */
  heatSplit: number | 'never';
  /** The seconds in which an on-demand table comes to serve twice its previous peak. */
  growth: number;
  /** Readers of a stream's shard at a time; more are throttled. */
  shardReaders: number;
}

/** How the twin behaves: its delays, limits and failures. */
export interface Conditions {
  /** Deletion of expired items. */
  timeToLive: 'off' | Lag;
  /** How long a write takes to reach a global index. */
  indexPropagation: Lag;
  /** How old what a read without `ConsistentRead` sees of a table or local index may be. */
  readStaleness: Lag;
  /** The share of such reads, from 0 to 1, that may see something old; the others see their table as it is. */
  staleReads: number;
  /** Whether such reads of one caller never go back behind what that caller has seen. */
  monotonicReads: boolean;
  /** How long a TransactWriteItems holds its items before it is carried out and answered. */
  transactionTime: Lag;
  /** How long the record of a change takes to be readable in a stream. It also waits for those before it in its shard. */
  streamLag: Lag;
  /** How many shards a new stream has; `'throughput'`: one for each partition that the table's throughput needs. */
  streamShards: number | 'throughput';
  /** How long a table is `CREATING` or `DELETING`. */
  tableStatus: Lag;
  /** How many seconds old `ItemCount` and the sizes in descriptions may be. */
  statisticsAge: number;
  /** Bytes that the items of a partition key, with their entries in local indexes, may have together. */
  itemCollectionSize: number;
  /** Bytes that the records of a table's stream may take, 1 GiB by default. Beyond it the oldest are trimmed. */
  streamBytes: number | 'unlimited';
  /** Bytes that the changes may take that point-in-time recovery keeps of a table, 1 GiB by default. Beyond it the oldest are dropped. */
  recoveryBytes: number | 'unlimited';
  /** Whether capacity runs out. It is read as `'reported'` or as the rules that hold. */
  capacity: 'reported' | 'enforced' | Partial<Enforcement>;
  /** Whether the control plane has limits: table operations at a time, requests at a time, and units of an account. */
  controlLimits: boolean;
  /** How long requests take. */
  latency: 'none' | Partial<Latency>;
  /** The share of requests, from 0 to 1, that fail with a 500. */
  internalErrors: number;
  /** The share of requests, from 0 to 1, that are throttled though capacity is left. */
  throttles: number;
}

export type ConditionsName = 'calm' | 'aws' | 'storm';

/** A name, or members that replace those of `base`; without a `base`, those of the conditions there are. */
export type ConditionsOption = ConditionsName | ({ base?: ConditionsName } & Partial<Conditions>);

export type ThrottleReason = 'ProvisionedThroughput' | 'KeyRangeThroughput' | 'AccountLimit' | 'MaxOnDemandThroughput';

/** What becomes of a request that a rule meets. */
export type Verdict =
  | 'throttle'
  | { throttle: ThrottleReason }
  | 'internalServerError'
  /** Carried out, and answered with a 500 if it succeeds. */
  | 'internalServerErrorAfterApply'
  | 'serviceUnavailable'
  | 'itemCollectionSizeLimitExceeded'
  | 'limitExceeded'
  /** An exception that the operation is modelled with, such as `TransactionConflictException`. */
  | { exception: string }
  /** The table's encryption key cannot be used. */
  | { kms: 'AccessDenied' | 'Disabled' | 'NotFound' }
  /** Carried out, and answered so much later. */
  | { wait: Lag }
  /** Not carried out: the connection is reset. */
  | 'reset'
  /** Carried out, and never answered. */
  | 'answerLost'
  /** Carried out, and the answer breaks off after so many bytes. */
  | { truncate: number }
  /** Carried out, and the answer's `x-amz-crc32` is wrong. */
  | 'corruptChecksum'
  /** The export, import, bulk operation or restore that is started runs, and ends as failed. */
  | 'failJob'
  | { failJob: 'InternalServerError' | 'S3NoSuchBucket' | 'S3AccessDenied' | 'KmsNotFoundException' };

/** A moment, or a number of seconds after a rule is added. */
export type When = number | string | Date;

/** What a rule or an outage is about, and when. */
export interface FaultScope {
  operation?: string;
  table?: string;
  /** Reads of this index, and writes to tables whose global index it is; a throttle is then the index's. */
  index?: string;
  /** The access key of who asks. */
  caller?: string;
  /** The partition key as text. */
  partition?: string;
  /** What the partition key begins with. */
  partitionPrefix?: string;
  /** Only requests to this region. */
  region?: string;
  /** Only from then on, by the twin's clock. */
  after?: When;
  /** Only until then. */
  until?: When;
  /** Only for so many seconds, instead of `until`. */
  for?: number;
}

/** A fault: what it matches, when it acts (at most one of `first`, `nth`, `everyNth`, `share`), and what it does. */
export interface FaultRule extends FaultScope {
  verdict: Verdict;
  first?: number;
  nth?: number;
  everyNth?: number;
  share?: number;
  /** Only for a `wait`, over HTTP: it moves the server's settable clock. In process every wait does. */
  movesClock?: boolean;
}

/**
 * A kind of outage:
 * - `'brownout'`: a tenth of all requests gets a 500, a twentieth a 503, and half of the others are answered late;
 * - `'throttle-storm'`: half of all requests are throttled;
 * - `'az-loss'`: for a minute a third of all requests gets no answer, for ten seconds a third of the others a 500, and for
 *   five minutes a fifth of what is left is answered late.
 */
export type Outage = 'brownout' | 'throttle-storm' | 'az-loss';

export interface FaultReport {
  id: number;
  rule: string;
  /** How many entries of requests the rule matched. */
  matched: number;
  /** How many of those it acted on. */
  fired: number;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array;
  /** When it is to be delivered, by the twin's clock, in milliseconds since 1970. */
  at: number;
  /** The parts of the time until then that do not move a settable clock which several clients share, in milliseconds. */
  still?: { held: number; latency: number };
  delivery: { kind: 'whole' | 'reset' | 'lost' } | { kind: 'truncated'; bytes: number };
  /** A word for the log that a client does not see. */
  note?: string;
}

/** The AWS SDK's `AttributeValue`: `unmarshall` of `@aws-sdk/util-dynamodb` reads it. */
export type AttributeValue =
  | { S: string }
  | { N: string }
  | { B: Uint8Array }
  | { BOOL: boolean }
  | { NULL: true }
  | { L: AttributeValue[] }
  | { M: Record<string, AttributeValue> }
  | { SS: string[] }
  | { NS: string[] }
  | { BS: Uint8Array[] };

export interface Options {
  /** The random seed, 0 by default: the same seed and the same requests give the same answers. */
  seed?: number | bigint;
  conditions?: ConditionsOption;
  clock?: ClockOption;
  /** One set of tables for all access keys and regions. */
  sharedTables?: boolean;
  /** Whether requests are recorded from the start, as after `watch()`. */
  watch?: boolean;
}

export interface Clock {
  now(): Date;
  /** Moves the clock forward and applies what became due. */
  advance(seconds: number): void;
  /** Moves the clock to a later moment and applies what became due. */
  set(moment: string | Date): void;
  /** Stops any clock until `unfreeze`: only `advance` and `set` move it, and sleepers keep sleeping. */
  freeze(): void;
  /** Lets time go on from where it stood. */
  unfreeze(): void;
  /** Whether the clock is stopped by `freeze`. */
  readonly frozen: boolean;
  /** Waits. A settable clock that is not frozen moves forward instead, and no real time passes. */
  sleep(milliseconds: number): Promise<void>;
  /** Whether the clock stands still unless it is moved. */
  readonly settable: boolean;
  /**
   * Whether polling moves a settable clock. If a `Describe…` request finds a transition under way (such as `CREATING`,
   * `DELETING` or `IN_PROGRESS`), the clock moves forward until the transition is over, by an hour at most, and the
   * request is answered then. An SDK waiter is done with its first request.
   */
  polling: boolean;
}

export interface Faults {
  /** Installs a rule behind those there are; returns its number. */
  add(rule: FaultRule): number;
  /** Starts an outage: installs its rules behind those there are; returns their numbers. */
  startOutage(outage: Outage, scope?: FaultScope): number[];
  /** Takes a rule out; says what it did. */
  remove(id: number): FaultReport | undefined;
  clear(): void;
  report(): FaultReport[];
  /** The rules that have never acted, also those that were taken out. */
  neverFired(): FaultReport[];
}

/** A request that was answered while requests were recorded. */
export interface SeenRequest {
  /** Counted from 1. */
  number: number;
  at: Date;
  caller: Required<Caller>;
  /** The operation's name in the API, such as `PutItem`. */
  operation: string;
  /** The tables that it named, each once. */
  tables: string[];
  /** The first hundred items or ranges of keys that it touched. */
  touches: Touch[];
  status: number;
  /** The name of the exception that it ended with. */
  error?: string;
  delivery: Answer['delivery'];
  readUnits: number;
  writeUnits: number;
  /** Items that were looked at. */
  scanned: number;
  /** Items that were answered. */
  returned: number;
}

/** An item or a range of keys that a request has touched. */
export interface Touch {
  act: 'Get' | 'Put' | 'Update' | 'Delete' | 'ConditionCheck' | 'Query' | 'Scan' | 'SearchVectors' | 'GetRecords';
  table: string;
  index?: string;
  /** The item's key; of a Query the partition key, of a Scan nothing. */
  key: Record<string, AttributeValue>;
  readUnits: number;
  writeUnits: number;
  error?: string;
}

/** A kind of scan that was seen. */
export interface Scan {
  operation: string;
  table: string;
  index?: string;
  caller: Required<Caller>;
  /** When it was first seen. */
  first: Date;
  /** Pages that were asked for. */
  times: number;
  /** Items that were looked at. */
  scanned: number;
  /** What could be queried instead: the table and its indexes, each by this attribute. */
  partitionKeys: { index?: string; attribute: string }[];
}

/** A counter or gauge, such as `ConsumedReadCapacityUnits` of `{ TableName }`. */
export interface Metric {
  name: string;
  dimensions: {
    TableName?: string;
    GlobalSecondaryIndexName?: string;
    Operation?: string;
    StreamLabel?: string;
  };
  value: number;
}

/** A metric in one minute of the twin's clock. */
export interface Datapoint extends Omit<Metric, 'value'> {
  /** When the minute begins. */
  start: Date;
  sum: number;
  /** This and what follows are there for `SuccessfulRequestLatency` and `IteratorAge`, in milliseconds. */
  sampleCount?: number;
  average?: number;
  minimum?: number;
  maximum?: number;
}

/** A partition key, and the units that were spent on its items. */
export interface HotKey {
  key: AttributeValue;
  units: number;
}

/** A global index, and what is on its way to it. */
export interface IndexState {
  index: string;
  paused: boolean;
  /** The number of changes that have not arrived yet. */
  waiting: number;
  /** The lag set by `setIndexLag`. */
  lag?: Lag;
}

/** Units spent, and entries of requests throttled. */
export interface Spending {
  units: number;
  throttles: number;
}

/** Units spent, units left at this moment, and entries throttled by reason. */
export interface ResourceSpending {
  units: number;
  left: number;
  throttles: Record<ThrottleReason, number>;
}

/** What the capacity of a table and its indexes was spent on. */
export interface Heat {
  /** The table, then its global indexes. */
  resources: {
    /** The index; missing for the table. */
    index?: string;
    read: ResourceSpending;
    write: ResourceSpending;
    /** Partitions in the order of their tokens, which are 16 hexadecimal digits. */
    partitions: { first: string; last: string; bytes: number; read: Spending; write: Spending }[];
  }[];
  /** The partition keys that cost most, hottest first, while requests are recorded or `watchHeat` is on. */
  keys: HotKey[];
}

/** What a client sends to `handle`, and what an HTTP request of the SDK looks like. */
export interface HttpRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  query?: Record<string, string | string[] | null>;
  body?: unknown;
}

/** The state of a twin at one moment. */
export interface Snapshot {
  /** The snapshot as bytes for another process, which restores them in JavaScript, Python, Rust or over HTTP. */
  bytes(): Uint8Array;
  /** A twin with the options of the one that the snapshot was taken from, in this state. */
  fork(): Dynatwin;
  /** Frees its memory at once. */
  [Symbol.dispose](): void;
}

export interface HttpResponse {
  statusCode: number;
  headers: Record<string, string>;
  body: Uint8Array | ReadableStream<Uint8Array>;
}

/** How long a client waits for an answer. */
export interface Patience {
  /** Milliseconds by the twin's clock after which a lost or late answer is a `TimeoutError`; 0 waits for ever. */
  requestTimeout?: number;
  abortSignal?: AbortSignal;
}

export interface Exchange {
  request: HttpRequest;
  answer: Answer;
}

export interface RequestHandlerOptions {
  /** Milliseconds by the twin's clock after which a lost or late answer is a `TimeoutError`: 30,000; 0 waits for ever. */
  requestTimeout?: number;
  /** Sees each request with its answer, before the answer is delivered. */
  onExchange?: (exchange: Exchange) => void;
}

/** What an AWS SDK v3 client takes as its `requestHandler`. */
export interface RequestHandler {
  readonly metadata: { handlerProtocol: string };
  handle(
    request: HttpRequest,
    options?: { abortSignal?: unknown; requestTimeout?: number },
  ): Promise<{ response: HttpResponse }>;
  // The SDK names its settings by each handler's own type.
  updateHttpClientConfig(name: never, value: never): void;
  httpHandlerConfigs(): {};
  destroy(): void;
}

/** The settings of an SDK client that talks to a twin. */
export interface ClientConfig {
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  requestHandler: RequestHandler;
  extensions: Pauses[];
}

/** Decides whether to try again, and after what pause: what an AWS SDK v3 client takes as its `retryStrategy`. */
export interface RetryStrategy {
  // The SDK has types of its own for tokens and errors.
  acquireInitialRetryToken(scope: string): Promise<any>;
  refreshRetryTokenForRetry(token: any, error: any): Promise<any>;
  recordSuccess(token: any): void;
}

/** What an AWS SDK v3 client takes among its `extensions`. */
export interface Pauses {
  configure(client: any): void;
}

