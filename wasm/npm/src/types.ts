// The types of options and results.
import type { Dynatwin } from './twin.js';

/**
 * The argument of `ready`: the module `dynatwin/dynatwin.wasm` as a `WebAssembly.Module`, an `ArrayBuffer`, a typed
 * array or a `Response`, or the URL to fetch it from. (A `WebAssembly.Module` has no members, so its type is that of
 * any object.)
 */
export type ModuleSource = object | string;

/** The account and region of a request: each has its own tables. The default is `dynatwin` in `us-east-1`. */
export interface Caller {
  accessKey?: string;
  region?: string;
}

/**
 * The clock of a twin:
 * - `'system'`: the machine's time; `advance` adds to it;
 * - `'settable'`: stands still at 2026-01-01T00:00:00Z until it is advanced, or a delay passes on it;
 * - `'polling'`: a settable clock that a client advances by polling, see `Clock.polling`;
 * - a moment: a settable clock that starts there;
 * - `{ start?, speed? }`: runs from `start` (now), `speed` times as fast as the machine's (1).
 */
export type ClockOption =
  | 'system'
  | 'settable'
  | 'polling'
  | (string & {})
  | Date
  | { start?: string | Date; speed?: number };

/** A delay: seconds, or half of all delays within `typical` and the rest up to `longest`; with `p99`, a long tail. */
export type Lag = number | { typical: number; p99?: number; longest: number };

/**
 * The latency of requests, by the class of their operation and their size; omitted members keep the service's or the
 * current value.
 */
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

/** How capacity is enforced; omitted members keep the service's or the current value. */
export interface Enforcement {
  /** For how many seconds unused provisioned capacity is kept. */
  burst: number;
  /** Whether a hot partition can use capacity that the others leave. */
  adaptive: boolean;
  /** The maximum read units per second of a partition. */
  partitionRead: number;
  /** The maximum write units per second of a partition. */
  partitionWrite: number;
  /** The bytes after which a partition is split. */
  partitionSize: number;
  /** The seconds for which a partition must be overloaded before it is split. */
  heatSplit: number | 'never';
  /** The seconds in which the capacity of an on-demand table grows to twice its previous peak. */
  growth: number;
  /** The number of concurrent readers of a stream's shard; more are throttled. */
  shardReaders: number;
}

/** The production behavior that the twin shows: delays, limits and failures. */
export interface Conditions {
  /** The delay of the deletion of expired items. */
  timeToLive: 'off' | Lag;
  /** The delay until a write reaches a global index. */
  indexPropagation: Lag;
  /** The maximum age of the state that a read of a table or local index without `ConsistentRead` returns. */
  readStaleness: Lag;
  /** The share of such reads, from 0 to 1, that may be stale; the others return the current state. */
  staleReads: number;
  /** Whether such reads of one caller never return an older state than that caller has read before. */
  monotonicReads: boolean;
  /** How long a TransactWriteItems locks its items before it is applied and answered. */
  transactionTime: Lag;
  /** The delay until a write reaches each other replica of its global table, with eventual consistency between regions. */
  replicationLag: Lag;
  /**
   * The time that a write or a strongly consistent read waits for another region, in a global table with strong
   * consistency between regions.
   */
  regionRoundTrip: Lag;
  /**
   * The delay until the record of a change can be read from a stream. A record is never readable before its predecessor
   * in the shard.
   */
  streamLag: Lag;
  /** The number of shards of a new stream; `'throughput'`: one for each partition that the table's throughput needs. */
  streamShards: number | 'throughput';
  /** How long a table is `CREATING` or `DELETING`. */
  tableStatus: Lag;
  /** The maximum age of `ItemCount` and the sizes in descriptions, in seconds. */
  statisticsAge: number;
  /** The maximum bytes of an item collection: the items of a partition key and their entries in local indexes. */
  itemCollectionSize: number;
  /** The maximum bytes of the records of a table's stream, 1 GiB by default. Beyond it the oldest are trimmed. */
  streamBytes: number | 'unlimited';
  /**
   * The maximum bytes of the changes that point-in-time recovery keeps of a table, 1 GiB by default. Beyond it the
   * oldest are dropped.
   */
  recoveryBytes: number | 'unlimited';
  /** Whether requests beyond the capacity are throttled. It reads as `'reported'` or as the rules that apply. */
  capacity: 'reported' | 'enforced' | Partial<Enforcement>;
  /** Whether the control plane has limits: concurrent table operations, rates of requests, and units of an account. */
  controlLimits: boolean;
  /** The latency of requests. */
  latency: 'none' | Partial<Latency>;
  /** The share of requests, from 0 to 1, that fail with a 500. */
  internalErrors: number;
  /** The share of requests, from 0 to 1, that are throttled even if capacity is left. */
  throttles: number;
}

export type ConditionsName = 'calm' | 'aws' | 'storm';

/** A name, or members that replace those of `base`; without a `base`, those of the current conditions. */
export type ConditionsOption = ConditionsName | ({ base?: ConditionsName } & Partial<Conditions>);

export type ThrottleReason = 'ProvisionedThroughput' | 'KeyRangeThroughput' | 'AccountLimit' | 'MaxOnDemandThroughput';

/** The effect of a rule. */
export type Verdict =
  | 'throttle'
  | { throttle: ThrottleReason }
  | 'internalServerError'
  /** Executed, and answered with a 500 if it succeeds. */
  | 'internalServerErrorAfterApply'
  | 'serviceUnavailable'
  | 'itemCollectionSizeLimitExceeded'
  | 'limitExceeded'
  /** An exception that the API model lists for the operation, such as `TransactionConflictException`. */
  | { exception: string }
  /** The table's encryption key cannot be used. */
  | { kms: 'AccessDenied' | 'Disabled' | 'NotFound' }
  /** Executed, and answered after this delay. */
  | { wait: Lag }
  /** Not executed: the connection is reset. */
  | 'reset'
  /** Executed, and never answered. */
  | 'answerLost'
  /** Executed, and the answer is truncated after this many bytes. */
  | { truncate: number }
  /** Executed, and the answer's `x-amz-crc32` is wrong. */
  | 'corruptChecksum'
  /** The export, import, bulk operation or restore that the request starts ends in failure. */
  | 'failJob'
  | { failJob: 'InternalServerError' | 'S3NoSuchBucket' | 'S3AccessDenied' | 'KmsNotFoundException' };

/** A moment, or a number of seconds after the rule is added. */
export type When = number | string | Date;

/** The requests and the time window to which a rule or an outage applies. */
export interface FaultScope {
  operation?: string;
  table?: string;
  /** Reads of this index, and writes to tables with this global index; a throttle is then attributed to the index. */
  index?: string;
  /** The caller's access key. */
  caller?: string;
  /** The partition key as text. */
  partition?: string;
  /** A prefix of the partition key. */
  partitionPrefix?: string;
  /** Only requests to this region. */
  region?: string;
  /** The start of the window, by the twin's clock. */
  after?: When;
  /** The end of the window. */
  until?: When;
  /** The length of the window in seconds, instead of `until`. */
  for?: number;
}

/** A fault rule: what it matches, when it acts (at most one of `first`, `nth`, `everyNth`, `share`), and its effect. */
export interface FaultRule extends FaultScope {
  verdict: Verdict;
  first?: number;
  nth?: number;
  everyNth?: number;
  share?: number;
  /** Only for a `wait`, over HTTP: it advances the server's settable clock. In process every wait does. */
  movesClock?: boolean;
}

/**
 * A kind of outage:
 * - `'brownout'`: a tenth of all requests gets a 500, a twentieth a 503, and half of the others are delayed;
 * - `'throttle-storm'`: half of all requests are throttled;
 * - `'az-loss'`: for a minute a third of all requests gets no answer, for ten seconds a third of the others a 500, and
 * for five minutes a fifth of the rest is delayed.
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
  /** The moment of delivery, by the twin's clock, in milliseconds since 1970. */
  at: number;
  /** The parts of the delay that do not advance a settable clock that several clients share, in milliseconds. */
  still?: { held: number; latency: number };
  delivery: { kind: 'whole' | 'reset' | 'lost' } | { kind: 'truncated'; bytes: number };
  /** A note for the log that clients do not receive. */
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
  /** The accounts, principals and policies of access control, as `setAccess` takes them. */
  iam?: AccessConfiguration;
}

/** Accounts, principals, access keys and policies, as an object or as JSON: see the guide on access control. */
export type AccessConfiguration = object | string;

/** A valid policy that does not mean what it seems to. */
export interface PolicyWarning {
  policy: string;
  /** The statement's place in the policy, from 1. */
  statement: number;
  code: string;
  message: string;
}

/** A request whose decision is explained: of a principal or an access key, either an operation or an action. */
export interface AccessQuestion {
  principal?: string;
  accessKeyId?: string;
  session?: {
    name?: string;
    federated?: boolean;
    tags?: Record<string, string>;
    keys?: Record<string, string | string[]>;
    policies?: unknown;
  };
  region?: string;
  sourceIp?: string;
  vpcEndpoint?: string;
  secureTransport?: boolean;
  operation?: string;
  request?: object;
  action?: string;
  resource?: string;
  keys?: Record<string, string | string[]>;
}

/** A decision: which statement made it, and from which values. */
export interface AccessExplanation {
  allowed: boolean;
  /** The service's refusal. */
  message?: string;
  evaluations: {
    action: string;
    resource: string;
    allowed: boolean;
    reason?: string;
    decidedBy?: { policyType: string; policy: string; statement: number; sid?: string };
    keys: Record<string, string | string[]>;
    statements: object[];
  }[];
}

/** The policy that allows what a principal has done, and nothing else. */
export interface UsedPermissions {
  /** The ARN of a user, role or root user; without access control an access key. */
  principal: string;
  policy: { Version: string; Statement: object[] };
}

/** The session in which a principal sends requests, and where they come from. */
export interface SessionOptions {
  /** The session's name, which is in the ARN of refusals: `session`. */
  name?: string;
  /** Whether this is a federated user called `name`, whose session the user requests, as by GetFederationToken. */
  federated?: boolean;
  /** Session tags, which replace the role's tags of the same name. */
  tags?: Record<string, string>;
  /** Condition keys of its requests, such as `www.amazon.com:user_id` or `aws:MultiFactorAuthPresent`. */
  keys?: Record<string, string | string[]>;
  /** Session policies: documents as objects or JSON. Several allow together what any of them allows. */
  policies?: (object | string)[];
  /** How many seconds of the twin's clock the credentials last: 3,600. */
  duration?: number;
  /** The region of its clients: `us-east-1`. */
  region?: string;
  sourceIp?: string;
  vpcEndpoint?: string;
  secureTransport?: boolean;
}

/** Temporary credentials. */
export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string;
}

/** A principal of the configured accounts. */
export interface Principal {
  readonly arn: string;
  /** Its temporary credentials, which expire on the twin's clock. */
  readonly credentials: Credentials;
  /** All that an SDK client needs to send requests as this principal. */
  clientConfig(): ClientConfig;
  requestHandler(options?: RequestHandlerOptions): RequestHandler;
}

export interface Clock {
  now(): Date;
  /** Advances the clock and applies due work. */
  advance(seconds: number): void;
  /** Sets the clock to a later moment and applies due work. */
  set(moment: string | Date): void;
  /** Stops any clock until `unfreeze`: only `advance` and `set` change it, and sleepers keep sleeping. */
  freeze(): void;
  /** Lets a frozen clock continue from where it stood. */
  unfreeze(): void;
  /** Whether the clock is stopped by `freeze`. */
  readonly frozen: boolean;
  /** Waits. A settable clock that is not frozen advances instead, and no real time passes. */
  sleep(milliseconds: number): Promise<void>;
  /** Whether the clock stands still until it is advanced. */
  readonly settable: boolean;
  /**
   * Whether polling advances a settable clock. If a `Describe…` request finds a transition in progress (such as
   * `CREATING`, `DELETING` or `IN_PROGRESS`), the clock advances to its end, by an hour at most, and the request is
   * answered then. An SDK waiter completes with its first request.
   */
  polling: boolean;
}

export interface Faults {
  /** Adds a rule after the existing ones; returns its number. */
  add(rule: FaultRule): number;
  /** Starts an outage: adds its rules after the existing ones; returns their numbers. */
  startOutage(outage: Outage, scope?: FaultScope): number[];
  /** Removes a rule; returns its counters. */
  remove(id: number): FaultReport | undefined;
  clear(): void;
  report(): FaultReport[];
  /** Returns the rules that have never acted, including those that were removed. */
  neverFired(): FaultReport[];
}

/** A request that was answered while requests were recorded. */
export interface SeenRequest {
  /** The request's number, counted from 1. */
  number: number;
  at: Date;
  caller: Required<Caller>;
  /** The operation's name in the API, such as `PutItem`. */
  operation: string;
  /** The tables in the request, each once. */
  tables: string[];
  /** The first hundred items or key ranges that it accessed. */
  touches: Touch[];
  status: number;
  /** The name of the exception in the answer. */
  error?: string;
  delivery: Answer['delivery'];
  readUnits: number;
  writeUnits: number;
  /** The number of items read before filtering. */
  scanned: number;
  /** The number of items returned. */
  returned: number;
}

/** An item or key range that a request has accessed. */
export interface Touch {
  act: 'Get' | 'Put' | 'Update' | 'Delete' | 'ConditionCheck' | 'Query' | 'Scan' | 'SearchVectors' | 'GetRecords';
  table: string;
  index?: string;
  /** The item's key; the partition key of a Query; empty for a Scan. */
  key: Record<string, AttributeValue>;
  readUnits: number;
  writeUnits: number;
  error?: string;
}

/** A kind of scan that was recorded. */
export interface Scan {
  operation: string;
  table: string;
  index?: string;
  caller: Required<Caller>;
  /** When it was first recorded. */
  first: Date;
  /** The number of pages requested. */
  times: number;
  /** The number of items read before filtering. */
  scanned: number;
  /** Alternatives to query: the table and its indexes, each with its partition key attribute. */
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
  /** The start of the minute. */
  start: Date;
  sum: number;
  /** This and the following are set for `SuccessfulRequestLatency` and `IteratorAge`, in milliseconds. */
  sampleCount?: number;
  average?: number;
  minimum?: number;
  maximum?: number;
}

/** A partition key, and the units consumed by its items. */
export interface HotKey {
  key: AttributeValue;
  units: number;
}

/** The state of a global index. */
export interface IndexState {
  index: string;
  paused: boolean;
  /** The number of changes that have not arrived yet. */
  waiting: number;
  /** The lag set by `setIndexLag`. */
  lag?: Lag;
}

/** Replication between a table and its replica in another region. */
export interface ReplicationState {
  /** The other region. */
  region: string;
  paused: boolean;
  /** The number of changes on their way from the other region. */
  arriving: number;
  /** The number of changes on their way to the other region. */
  leaving: number;
  /** The lag set by `setReplicationLag`. */
  lag?: Lag;
}

/** Units consumed, and entries of requests throttled. */
export interface Spending {
  units: number;
  throttles: number;
}

/** Units consumed, units left at this moment, and entries throttled by reason. */
export interface ResourceSpending {
  units: number;
  left: number;
  throttles: Record<ThrottleReason, number>;
}

/** The units consumed and throttled in a table and its indexes. */
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
  /**
   * The partition keys with the highest cost, in descending order, while requests are recorded or `watchHeat` is on.
   */
  keys: HotKey[];
}

/** A request for `handle`, in the form of the SDK's HTTP requests. */
export interface HttpRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  query?: Record<string, string | string[] | null>;
  body?: unknown;
}

/** The state of a twin at one moment. */
export interface Snapshot {
  /** Returns the snapshot as bytes for another process, which restores them in JavaScript, Python, Rust or over HTTP. */
  bytes(): Uint8Array;
  /** Returns a new twin in this state, with the options of the snapshot's twin. */
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

/** The type of an AWS SDK v3 client's `requestHandler`. */
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
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
  requestHandler: RequestHandler;
  extensions: Pauses[];
}

/** Decides whether to retry and after what pause: the type of an AWS SDK v3 client's `retryStrategy`. */
export interface RetryStrategy {
  // The SDK has its own types for tokens and errors.
  acquireInitialRetryToken(scope: string): Promise<any>;
  refreshRetryTokenForRetry(token: any, error: any): Promise<any>;
  recordSuccess(token: any): void;
}

/** The type of an entry of an AWS SDK v3 client's `extensions`. */
export interface Pauses {
  configure(client: any): void;
}

