// The types of options and results.
import type * as declared from './controls.js';
import type { ConditionsOption, FaultReport, OutageName } from './controls.js';
import type { Dynatwin } from './twin.js';

export type {
  AccessExplanation,
  AccessQuestion,
  Conditions,
  ConditionsOption,
  Enforcement,
  FaultReport,
  Index as IndexState,
  Lag,
  Latency,
  Metric,
  Name as ConditionsName,
  OutageName as Outage,
  PolicyWarning,
  Reason as ThrottleReason,
  Replication as ReplicationState,
  UsedPermissions,
  Verdict,
} from './controls.js';

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

/** A moment, or a number of seconds after the rule is added. */
export type When = number | string | Date;

/** The requests and the time window to which a rule or an outage applies. */
export interface FaultScope extends Omit<declared.Outage, 'outage' | 'after' | 'until'> {
  /** The start of the window, by the twin's clock. */
  after?: When;
  /** The end of the window. */
  until?: When;
}

/** A fault rule: what it matches, when it acts (at most one of `first`, `nth`, `everyNth`, `share`), and its effect. */
export interface FaultRule extends Omit<declared.Rule, 'after' | 'until'>, FaultScope {}

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
  startOutage(outage: OutageName, scope?: FaultScope): number[];
  /** Removes a rule; returns its counters. */
  remove(id: number): FaultReport | undefined;
  clear(): void;
  report(): FaultReport[];
  /** Returns the rules that have never acted, including those that were removed. */
  neverFired(): FaultReport[];
}

/** A request that was answered while requests were recorded. */
export interface RecordedRequest extends Omit<declared.Request, 'at' | 'accesses' | 'delivery' | 'request' | 'response'> {
  at: Date;
  /** The first hundred items or key ranges that it accessed. */
  accesses: RecordedAccess[];
  delivery: Answer['delivery'];
}

/** An item or key range that a request has accessed. */
export interface RecordedAccess extends Omit<declared.RecordedAccess, 'key'> {
  /** The item's key; the partition key of a Query; empty for a Scan. */
  key: Record<string, AttributeValue>;
}

/** A kind of scan that was recorded. */
export interface Scan extends Omit<declared.Scan, 'first'> {
  /** When it was first recorded. */
  first: Date;
}

/** A metric in one minute of the twin's clock. */
export interface Datapoint extends Omit<declared.Datapoint, 'start'> {
  /** The start of the minute. */
  start: Date;
}

/** A partition key, and the units consumed by its items. */
export interface HotKey {
  key: AttributeValue;
  units: number;
}

/** The units consumed and throttled in a table and its indexes. */
export interface Heat extends Omit<declared.Heat, 'keys'> {
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

