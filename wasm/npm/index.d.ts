// Types of the package `dynatwin`.

/** Resolves when the wasm module is loaded. In Node it is from the start; in a browser, await it before `new Dynatwin`. */
export function ready(): Promise<void>;

/** Whose tables: each access key and region has its own. By default `dynatwin` in `us-east-1`. */
export interface Caller {
  accessKey?: string;
  region?: string;
}

/**
 * The clock a twin lives by:
 * - `'system'`: the machine's time, which `advance` runs ahead of;
 * - `'settable'`: stands still at 2026-01-01T00:00:00Z until it is moved, or somebody sleeps on it;
 * - a moment: stands still there;
 * - `{ start?, speed? }`: runs from `start` (now), `speed` times as fast as the machine's (1).
 */
export type ClockOption = 'system' | 'settable' | (string & {}) | Date | { start?: string | Date; speed?: number };

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

/** What the twin does of what production does. */
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
  /** What chance is made of: the same seed and the same requests give the same answers. 0 by default. */
  seed?: number | bigint;
  conditions?: ConditionsOption;
  clock?: ClockOption;
  /** One set of tables for all access keys and regions. */
  sharedTables?: boolean;
  /** Whether what is asked of the twin is watched from the beginning, as after `watch()`. */
  watch?: boolean;
}

export interface Clock {
  now(): Date;
  /** Moves the clock forward, and does what fell due on the way. */
  advance(seconds: number): void;
  /** Moves the clock to a moment ahead, and does what fell due on the way. */
  set(moment: string | Date): void;
  /** Lets time stand, on any clock, until `unfreeze`: only `advance` and `set` move it, and sleepers sleep on. */
  freeze(): void;
  /** Lets time go on from where it stood. */
  unfreeze(): void;
  /** Whether time stands by `freeze`. */
  readonly frozen: boolean;
  /** Waits; a settable clock that is not frozen is moved instead, and no time is lost. */
  sleep(milliseconds: number): Promise<void>;
  /** Whether the clock stands still unless it is moved. */
  readonly settable: boolean;
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

/** A request that was answered while the twin was watched. */
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

export interface HttpRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  query?: Record<string, string | string[] | null>;
  body?: unknown;
}

export interface HttpResponse {
  statusCode: number;
  headers: Record<string, string>;
  body: Uint8Array | ReadableStream<Uint8Array>;
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

/**
 * For a client of a server with a settable clock: sends with each further attempt, in the header `X-Dynatwin-Advance`, the
 * seconds since the last one ended, so that the client's pauses pass on that clock. Returns the client.
 */
export function passPauses<Client extends { middlewareStack: any }>(client: Client): Client;

export class Dynatwin {
  constructor(options?: Options);

  readonly seed: bigint;
  readonly clock: Clock;
  readonly faults: Faults;

  /** The conditions of all tables without their own; assign a name or an object. */
  get conditions(): Conditions;
  set conditions(conditions: ConditionsOption);
  /** The conditions of one table; `undefined` lets it follow the others again. */
  setTableConditions(table: string, conditions: ConditionsOption | undefined, caller?: Caller): void;

  /** Lets no write reach a global index from now on, until `resumeIndex`. */
  pauseIndex(table: string, index: string, caller?: Caller): void;
  /** Lets a paused index catch up. */
  resumeIndex(table: string, index: string, caller?: Caller): void;
  /** How long writes from now on take to reach one global index; `undefined` lets it follow the conditions again. */
  setIndexLag(table: string, index: string, lag: Lag | undefined, caller?: Caller): void;
  /** Deletes every item that has expired, as time to live will, but now; returns how many there were. */
  expireNow(table: string, caller?: Caller): number;

  /** `new DynamoDBClient({ requestHandler: twin.requestHandler(), region, credentials })` talks to the twin. */
  requestHandler(options?: RequestHandlerOptions): RequestHandler;
  /** All that an SDK client needs: `new DynamoDBClient(twin.clientConfig())`. */
  clientConfig(caller?: Caller): {
    region: string;
    credentials: { accessKeyId: string; secretAccessKey: string };
    requestHandler: RequestHandler;
    extensions: Pauses[];
  };
  /**
   * For a client's `extensions`: its pauses between two attempts pass by the twin's clock, so that they take no real time if
   * that is settable. Whether to try again stays the SDK's decision.
   */
  pauses(): Pauses;
  /** The same for one strategy: `retryStrategy: twin.retryStrategy(new ConfiguredRetryStrategy(8, …))`. */
  retryStrategy<Strategy extends RetryStrategy>(strategy: Strategy): RetryStrategy;

  /** One request below the HTTP envelope: `dispatch('GetItem', '{"TableName": …}')`. */
  dispatch(target: string, body: string | Uint8Array, caller?: Caller): Answer;
  /** One request with its HTTP envelope. */
  handle(method: string, path: string, headers: Record<string, string>, body?: string | Uint8Array): Answer;
  /** Delivers an answer as and when it says: resolves, or fails as a connection fails. */
  carry(answer: Answer, patience?: { requestTimeout?: number; abortSignal?: AbortSignal }): Promise<HttpResponse>;

  /** The names of the tables. */
  tables(caller?: Caller): string[];
  /** All items of a table, as they are now; `undefined` if there is no such table. */
  items(table: string, caller?: Caller): Record<string, AttributeValue>[] | undefined;

  /**
   * Begins, or with `false` ends, to watch what is asked of the twin: `requests`, `scans`, the counters of `metrics`, and
   * `hottestKeys`. What was seen stays until `reset` or `forgetRequests`.
   */
  watch(watches?: boolean): void;
  readonly watched: boolean;
  /** The latest requests of all callers, oldest first; ten thousand at most. Each attempt of an SDK is one. */
  requests(): SeenRequest[];
  /** Forgets all requests, scans and counters. */
  forgetRequests(): void;
  /**
   * Who has read all of a table or an index: each operation, table, index and caller once. A SELECT that does not fix the
   * partition key is one.
   */
  scans(): Scan[];
  /**
   * The counters and gauges of an account in its region, by the names and dimensions that CloudWatch has for them. Counters
   * are sums of the time in which the twin was watched; what is zero is not there.
   */
  metrics(caller?: Caller): Metric[];
  /** The counters by the minute, oldest first: what the condition of an alarm looks at. The last 1,440 minutes are kept. */
  metricsByMinute(caller?: Caller): Datapoint[];
  /** The partition keys of a watched table that cost most, hottest first: ten, unless told otherwise. */
  hottestKeys(table: string, most?: number, caller?: Caller): HotKey[];

  /** When something is due next. */
  nextDue(): Date | undefined;
  /** Does what is due. */
  runDue(): void;
  /**
   * Removes all tables and rules, and forgets what was asked. With `all`, puts the twin back to what it was made with: its
   * clock and conditions too. Time goes back then, so no request should run meanwhile.
   */
  reset(options?: { all?: boolean }): void;
}
