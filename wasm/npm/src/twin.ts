// The twin: the engine from the wasm module with defaults, dates and connections to the AWS SDK.
import { assertFaultsFired, assertNoScans } from './assertions.js';
import { attach, type Attachment } from './attach.js';
import { iso, TwinClock } from './clock.js';
import { answerTo, json, keyOf, keyValue, unlessAbsent, type Handle } from './control.js';
import * as controls from './controls.js';
import { deliver } from './delivery.js';
import { dispose, release } from './dispose.js';
import { Engine, EngineSnapshot, isLoaded } from './engine.js';
import { TwinFaults } from './faults.js';
import { requestHandler } from './handler.js';
import { isDescription, settled } from './polling.js';
import { TwinPrincipal } from './principal.js';
import { pauses, retryStrategy } from './retries.js';
import { CapacitySpent } from './spent.js';
import type {
  AccessConfiguration,
  AccessExplanation,
  AccessQuestion,
  Answer,
  AttributeValue,
  Caller,
  ClientConfig,
  Clock,
  Conditions,
  ConditionsOption,
  Datapoint,
  Faults,
  Heat,
  HotKey,
  HttpResponse,
  IndexState,
  Lag,
  Metric,
  Options,
  Patience,
  Pauses,
  PolicyWarning,
  Principal,
  ReplicationState,
  RequestHandler,
  RequestHandlerOptions,
  RetryStrategy,
  Scan,
  RecordedRequest,
  SessionOptions,
  Snapshot,
  UsedPermissions,
} from './types.js';

const CALLER = { accessKey: 'dynatwin', region: 'us-east-1' };
const encoder = new TextEncoder();
const bytesOf = (body?: string | Uint8Array) => (typeof body === 'string' ? encoder.encode(body) : (body ?? new Uint8Array()));
const of = (caller?: Caller): [accessKey: string, region: string] => {
  const { accessKey, region } = { ...CALLER, ...caller };
  return [accessKey, region];
};

/** An in-process DynamoDB emulator, with a clock, fault rules and conditions. */
export class Dynatwin {
  readonly clock: Clock;
  readonly faults: Faults;
  readonly #clock: TwinClock;
  readonly #engine: Engine;
  readonly #options: Options;
  readonly #polling: boolean;
  readonly #attachments = new Set<Attachment>();
  #records = false;
  #sessions = 0;
  #meters = 0;

  constructor(options: Options = {}) {
    const { seed = 0, conditions, clock, sharedTables = false, watch = false, iam, ...others } = options;
    refuseOthers(others);
    if (!isLoaded()) throw new Error('The wasm module is not loaded: await ready() before the first new Dynatwin().');
    this.#options = { ...options };
    this.#polling = clock === 'polling';
    this.#engine = new Engine(seedOf(seed), json(conditions), json(engineClock(clock)), Boolean(sharedTables));
    this.#clock = new TwinClock(this.#engine, this.#polling);
    this.clock = this.#clock;
    this.faults = new TwinFaults((call) => this.control(call));
    if (watch) this.watch();
    if (iam !== undefined) this.setAccess(iam);
  }

  get seed(): bigint {
    return this.#engine.seed();
  }

  /** Handles one request without the HTTP envelope: `dispatch('GetItem', '{"TableName": …}')`. */
  dispatch(target: string, body: string | Uint8Array, caller?: Caller): Answer {
    const full = target.includes('.') ? target : `DynamoDB_20120810.${target}`;
    const ask = () => sound(() => this.#engine.dispatch(full, bytesOf(body), ...of(caller)) as Answer);
    return this.#polled(ask, full);
  }

  /**
   * Handles one request with its HTTP envelope. This is the lowest entry point: requests of the API, `GET /` and the
   * controls under `/_dynatwin/` use it. It takes and returns plain values that `postMessage` can clone, so a twin can
   * run in a Worker.
   */
  handle(method: string, path: string, headers?: Record<string, unknown>, body?: string | Uint8Array): Answer {
    const words = Object.entries(headers ?? {}).flatMap(([name, value]) => [name, String(value)]);
    const ask = () => this.#handle(method, path, words, bytesOf(body));
    return this.clock.polling ? this.#polled(ask, targetOf(headers)) : ask();
  }

  #polled(ask: () => Answer, target: string | undefined): Answer {
    const answer = ask();
    const { polling, settable, frozen } = this.clock;
    if (!polling || !settable || frozen || !isDescription(target)) return answer;
    // The client has sent its first request, so the following ones are not recorded.
    return this.#unwatched(() => settled(answer, (seconds) => this.clock.advance(seconds), ask));
  }

  #unwatched<T>(block: () => T): T {
    if (!this.#engine.isWatched()) return block();
    this.#engine.watch(false);
    try {
      return block();
    } finally {
      this.#engine.watch(true);
    }
  }

  /** Delivers an answer as its `at` and `delivery` define: resolves, or rejects like a failing connection. */
  carry(answer: Answer, patience?: Patience): Promise<HttpResponse> {
    return deliver(this.clock, answer, patience);
  }

  /** Returns the handler for `new DynamoDBClient({ requestHandler: twin.requestHandler(), region, credentials })`. */
  requestHandler(options?: RequestHandlerOptions): RequestHandler {
    return requestHandler(this, options);
  }

  /** Returns the complete settings of an SDK client: `new DynamoDBClient(twin.clientConfig())`. */
  clientConfig(caller?: Caller): ClientConfig {
    const [accessKey, region] = of(caller);
    const credentials = { accessKeyId: accessKey, secretAccessKey: 'not checked' };
    return { region, credentials, requestHandler: this.requestHandler(), extensions: [this.pauses()] };
  }

  /**
   * Answers the requests of an existing client, such as one of an application's module scope, or of a
   * `DynamoDBDocumentClient`, which shares its settings with the client it was created from. The client sends them as
   * `caller`, by default `dynatwin` in `us-east-1`, or as a principal, instead of its own region and credentials, until the attachment is
   * detached or disposed, or the twin is disposed. The latest of several attachments of a client applies.
   */
  attach(client: { config: object }, caller?: Caller | Principal): Attachment {
    const config = caller instanceof TwinPrincipal ? caller.clientConfig() : this.clientConfig(caller as Caller);
    const { region, credentials, requestHandler } = config;
    const inner = attach(client, ({ retryStrategy: own }) => {
      let paced: Promise<RetryStrategy> | undefined;
      return {
        requestHandler,
        credentials,
        region: async () => region,
        signingRegion: region,
        systemClockOffset: 0,
        useFipsEndpoint: async () => false,
        cacheMiddleware: false,
        retryStrategy: own && (() => (paced ??= Promise.resolve(own()).then((found) => this.retryStrategy(found)))),
      };
    });
    const detach = () => {
      this.#attachments.delete(attachment);
      inner.detach();
    };
    const attachment = { detach, [dispose]: detach } as Attachment;
    this.#attachments.add(attachment);
    return attachment;
  }

  /**
   * Returns an extension for a client's `extensions`: its backoff between two attempts then uses the twin's clock, and
   * takes no real time if that is settable. The SDK still decides whether to retry.
   */
  pauses(): Pauses {
    return pauses(this.clock);
  }

  /**
   * Returns a strategy that pauses on the twin's clock: `retryStrategy: twin.retryStrategy(new
   * ConfiguredRetryStrategy(8, …))`.
   */
  retryStrategy<Strategy extends RetryStrategy>(strategy: Strategy): RetryStrategy {
    return retryStrategy(this.clock, strategy);
  }

  /** The conditions of all tables without their own; assign a name or an object. */
  get conditions(): Conditions {
    return this.control(controls.getConditions());
  }

  set conditions(conditions: ConditionsOption) {
    this.control(controls.setConditions(conditions));
  }

  /** Sets the conditions of one table; with `undefined` the twin's conditions apply again. */
  setTableConditions(table: string, conditions: ConditionsOption | undefined, caller?: Caller): void {
    const own = conditions === undefined ? controls.clearTableConditions({ table }) : controls.setTableConditions({ table }, conditions);
    this.control(own, caller);
  }

  /** Pauses a global index: no write reaches it until `resumeIndex`. */
  pauseIndex(table: string, index: string, caller?: Caller): void {
    this.control(controls.pauseIndex({ table, index }), caller);
  }

  /** Resumes a paused index, and applies the writes that are due. */
  resumeIndex(table: string, index: string, caller?: Caller): void {
    this.control(controls.resumeIndex({ table, index }), caller);
  }

  /** Sets the time until later writes reach one global index; with `undefined` the conditions apply again. */
  setIndexLag(table: string, index: string, lag: Lag | undefined, caller?: Caller): void {
    const own = lag === undefined ? controls.clearIndexLag({ table, index }) : controls.setIndexLag({ table, index }, lag);
    this.control(own, caller);
  }

  /** Returns the global indexes of a table, and the number of pending changes. */
  indexes(table: string, caller?: Caller): IndexState[] {
    return this.control(controls.listIndexes({ table }), caller);
  }

  /** Replication between a table and each of its replicas; the table is the one in the caller's region. */
  replication(table: string, caller?: Caller): ReplicationState[] {
    return this.control(controls.listReplication({ table }), caller);
  }

  /** Pauses replication between a table and its replica in `region`, both ways; `undefined`: all of its replicas. */
  pauseReplication(table: string, region?: string, caller?: Caller): void {
    if (region === undefined) this.control(controls.pauseAllReplication({ table }), caller);
    else this.control(controls.pauseReplication({ table, region }), caller);
  }

  /** Lets a table and its replica in `region`, or all of its replicas, exchange the missing writes. */
  resumeReplication(table: string, region?: string, caller?: Caller): void {
    if (region === undefined) this.control(controls.resumeAllReplication({ table }), caller);
    else this.control(controls.resumeReplication({ table, region }), caller);
  }

  /** Sets how long writes take to reach the replica in `region` from now on; `undefined` lets them follow the conditions again. */
  setReplicationLag(table: string, region: string, lag: Lag | undefined, caller?: Caller): void {
    const own = lag === undefined ? controls.clearReplicationLag({ table, region }) : controls.setReplicationLag({ table, region }, lag);
    this.control(own, caller);
  }

  /** Deletes all expired items now instead of after the TTL delay; returns their number. */
  expireNow(table: string, caller?: Caller): number {
    return this.control(controls.expireNow({ table }), caller).deleted;
  }

  /**
   * Splits each open shard of a table's stream in two, as the service does for hot partitions. Returns whether the
   * table has a stream.
   */
  splitShards(table: string, caller?: Caller): boolean {
    return this.control(controls.splitShards({ table }), caller).split;
  }

  /** Returns the names of the tables. */
  tables(caller?: Caller): string[] {
    return this.#engine.tables(...of(caller));
  }

  /** Returns all current items of a table; `undefined` if the table does not exist. */
  items(table: string, caller?: Caller): Record<string, AttributeValue>[] | undefined {
    return this.#engine.items(...of(caller), table);
  }

  /**
   * Starts, or with `false` stops, recording requests for `requests`, `scans`, the counters of `metrics`, and
   * `hottestKeys`. The records are kept until `reset` or `forgetRequests`.
   */
  watch(watches = true): void {
    this.#records = Boolean(watches);
    this.#engine.watch(this.#records || this.#meters > 0);
  }

  /** Whether requests are recorded. */
  get watched(): boolean {
    return this.#records;
  }

  /**
   * Returns the latest requests of all callers, oldest first; ten thousand at most. Each attempt of an SDK is a
   * request.
   */
  requests(): RecordedRequest[] {
    return this.control(controls.listRequests()).requests.map((request) => ({
      ...request,
      at: new Date(request.at),
      accesses: request.accesses.map((access) => ({ ...access, key: keyOf(access.key) })),
      delivery: request.delivery as RecordedRequest['delivery'],
    }));
  }

  /** Removes all recorded requests, scans and counters. */
  forgetRequests(): void {
    this.control(controls.forgetRequests());
  }

  /**
   * Returns the scans of tables and indexes: each operation, table, index and caller once. A SELECT that does not fix
   * the partition key is a scan.
   */
  scans(): Scan[] {
    return this.control(controls.listScans()).map((scan) => ({ ...scan, first: new Date(scan.first) }));
  }

  /** Throws an error if a table or index was scanned, with a Query to use instead, or if requests were not recorded. */
  assertNoScans(): void {
    assertNoScans(this.watched, this.scans());
  }

  /** Throws an error if a fault rule never acted, including those that were removed. */
  assertFaultsFired(): void {
    assertFaultsFired(this.faults.neverFired());
  }

  /**
   * Returns the counters and gauges of an account in its region, with CloudWatch's names and dimensions. Counters are
   * sums over the time in which requests were recorded; zeros are omitted.
   */
  metrics(caller?: Caller): Metric[] {
    return this.control(controls.getMetrics(), caller).flatMap(({ metrics }) => metrics);
  }

  /** Returns the metric with exactly these dimensions, such as `{ TableName: 'Orders' }`; 0 if there is none. */
  metric(name: string, dimensions: Metric['dimensions'] = {}, caller?: Caller): number {
    const wanted = Object.entries(dimensions);
    const found = this.metrics(caller).find((metric) => {
      const own: Record<string, string> = metric.dimensions;
      return metric.name === name && Object.keys(own).length === wanted.length && wanted.every(([key, value]) => own[key] === value);
    });
    return found?.value ?? 0;
  }

  /**
   * Returns the counters by the minute, oldest first, as an alarm's condition evaluates them. The last 1,440 minutes
   * are kept.
   */
  metricsByMinute(caller?: Caller): Datapoint[] {
    const points = this.control(controls.getMetricsByMinute(), caller).flatMap(({ datapoints }) => datapoints);
    return points.map((point) => ({ ...point, start: new Date(point.start) }));
  }

  /** Returns at most `most` partition keys of a recorded table with the highest cost, in descending order. */
  hottestKeys(table: string, most = 10, caller?: Caller): HotKey[] {
    return unlessAbsent(() => this.heat(table, caller))?.keys.slice(0, most) ?? [];
  }

  /**
   * Returns the units consumed and throttled in a table, by partition: since `watchHeat`, or always where capacity is
   * enforced.
   */
  heat(table: string, caller?: Caller): Heat {
    const { keys, ...heat } = this.control(controls.getHeat({ table }), caller);
    return { ...heat, keys: keys.map(({ key, units }) => ({ key: keyValue(key), units })) };
  }

  /** Starts, or with `false` stops, recording the heat of one table. */
  watchHeat(table: string, watches = true, caller?: Caller): void {
    this.control(watches ? controls.watchHeat({ table }) : controls.unwatchHeat({ table }), caller);
  }

  /**
   * Returns the result of `block`, and the capacity that the tables of a caller consume until it settles, including
   * that of concurrent requests.
   */
  async capacitySpentBy<T>(block: () => T | Promise<T>, caller?: Caller): Promise<[result: T, spent: CapacitySpent]> {
    this.#meters += 1;
    this.#engine.watch(true);
    const before = this.#engine.spent(...of(caller));
    try {
      const result = await block();
      return [result, new CapacitySpent(before, this.#engine.spent(...of(caller)))];
    } finally {
      this.#meters -= 1;
      if (!this.#records && this.#meters === 0) this.#engine.watch(false);
    }
  }

  /**
   * Replaces the accounts, principals and policies of access control, and returns warnings about policies that do not mean what
   * they seem to. From then on every request needs credentials of a configured principal, such as those of `asRole`.
   */
  setAccess(iam: AccessConfiguration): PolicyWarning[] {
    return this.control(controls.setAccess(typeof iam === 'string' ? JSON.parse(iam) : iam)).warnings;
  }

  // Sets the configuration of the options again: `reset` with `all` and `restore` remove it.
  #restoreAccess(): void {
    if (this.#options.iam !== undefined) this.setAccess(this.#options.iam);
  }

  /** Removes the configuration of access control: everything is allowed. */
  removeAccess(): void {
    this.control(controls.removeAccess());
  }

  /**
   * Returns the decision on a request, the deciding statement and the values of the condition keys. The request is not
   * executed.
   */
  explainAccess(question: AccessQuestion): AccessExplanation {
    return this.control(controls.explainAccess(question));
  }

  /**
   * For each principal of the recorded requests the policy that allows them and nothing else; with `leadingKeys`, restricted to
   * the partition key values of the requests; with `attributes`, to the attributes that they name and what they return.
   */
  accessReport({ leadingKeys = false, attributes = false }: { leadingKeys?: boolean; attributes?: boolean } = {}): UsedPermissions[] {
    return this.control(controls.reportAccess({ leadingKeys, attributes })).principals;
  }

  /** A session of a configured role: `asRole('arn:aws:iam::123456789012:role/Reader', { tags: { team: 'blue' } })`. */
  asRole(arn: string, options: SessionOptions = {}): Principal {
    const { name = 'session', federated = false, tags = {}, keys = {}, policies, duration = 3600 } = options;
    const id = `ASIADYNATWIN${String((this.#sessions += 1)).padStart(8, '0')}`;
    const credentials = { accessKeyId: id, secretAccessKey: `secret of ${id}`, sessionToken: `token of ${id}` };
    const described = { name, federated, tags, keys, ...(policies?.length && { policies }), durationSeconds: duration };
    const session = { role: arn, ...credentials, ...described };
    this.control(controls.addSession(session));
    return new TwinPrincipal(this, arn, credentials, options);
  }

  /** A configured user: `asUser('arn:aws:iam::123456789012:user/ann')`. */
  asUser(arn: string, options?: SessionOptions): Principal {
    return this.asRole(arn, options);
  }

  /** The root user of an account, who may do everything there. */
  asRoot(account: string, options?: SessionOptions): Principal {
    return this.asRole(`arn:aws:iam::${account}:root`, options);
  }

  /** Returns the moment of the next due work. */
  nextDue(): Date | undefined {
    const due = this.#engine.nextDue();
    return due === undefined ? undefined : new Date(due);
  }

  /** Applies due work. */
  runDue(): void {
    this.#engine.runDue();
  }

  /**
   * Returns the tables with all their settings and data, the conditions and the clock's moment, for `restore` and
   * `fork`. Fault rules and recorded requests are not part of it.
   */
  snapshot(): Snapshot {
    return new TwinSnapshot(this.#engine.snapshot(), this.#options);
  }

  /**
   * Resets the twin to a snapshot of it or of another twin, or to the bytes of one. Fault rules and recorded requests are removed,
   * and random decisions start anew, so the same seed makes the same decisions. Bytes that are damaged or of another version throw
   * an error and change nothing. Time may go back, so no request should be running.
   */
  restore(snapshot: Snapshot | Uint8Array): void {
    if (snapshot instanceof Uint8Array) {
      const state = EngineSnapshot.fromBytes(snapshot);
      try {
        this.#engine.restore(state);
      } finally {
        state.free();
      }
    } else {
      this.#engine.restore(stateOf(snapshot));
    }
    this.#clock.wake();
    this.#restoreAccess();
    if (this.#records || this.#meters > 0) this.#engine.watch(true);
  }

  /** Returns a new twin with the same options and state. The twins do not affect each other. */
  fork(): Dynatwin {
    const snapshot = this.snapshot();
    const fork = snapshot.fork();
    snapshot[dispose]();
    return fork;
  }

  /**
   * Removes all tables, fault rules and recorded requests. With `all`, also restores the initial clock and conditions.
   * Time goes back then, so no request should be running.
   */
  reset({ all = false }: { all?: boolean } = {}): void {
    this.control(controls.reset({ all }));
    if (!all) return;
    this.clock.polling = this.#polling;
    this.#restoreAccess();
  }

  /** Detaches all clients and frees the twin's memory at once. Otherwise it is freed with the last reference. */
  [dispose](): void {
    for (const attachment of this.#attachments) attachment.detach();
    release(this.#engine, 'twin');
  }

  /**
   * Calls a control in the name of a caller, and returns its answer: `twin.control(controls.getPending({ table: 'Orders' }))`.
   * `controls` has all that `openapi.json` declares.
   */
  control<T>(call: controls.Call<T>, caller?: Caller): T {
    return answerTo(this.#handle, call, ...of(caller));
  }

  readonly #handle: Handle = (method, path, headers, body) => {
    const answer = sound(() => this.#engine.handle(method, path, headers, body) as Answer);
    // A control may have moved the clock.
    if (method !== 'GET' && path.startsWith('/_dynatwin/')) this.#clock.wake();
    return answer;
  };
}

class TwinSnapshot implements Snapshot {
  readonly #state: EngineSnapshot;
  readonly #options: Options;

  constructor(state: EngineSnapshot, options: Options) {
    this.#state = state;
    this.#options = options;
  }

  static stateOf(snapshot: Snapshot): EngineSnapshot {
    if (snapshot instanceof TwinSnapshot) return snapshot.#state;
    throw new TypeError('restore takes what snapshot() has returned, or its bytes().');
  }

  bytes(): Uint8Array {
    return this.#state.bytes();
  }

  fork(): Dynatwin {
    const fork = new Dynatwin(this.#options);
    fork.restore(this);
    return fork;
  }

  [dispose](): void {
    release(this.#state, 'snapshot');
  }
}
const { stateOf } = TwinSnapshot;

function engineClock(clock: Options['clock']): unknown {
  if (clock === 'polling') return 'settable';
  if (typeof clock !== 'object' || clock === null || clock instanceof Date) return iso(clock);
  return clock.start === undefined ? clock : { ...clock, start: iso(clock.start) };
}

function refuseOthers(others: object): void {
  const [name] = Object.keys(others);
  if (name !== undefined) throw new TypeError(`Dynatwin has no option "${name}".`);
}

function seedOf(seed: number | bigint): bigint {
  const whole = typeof seed === 'bigint' ? seed : Number.isSafeInteger(seed) ? BigInt(seed) : -1n;
  if (whole < 0n || whole >= 1n << 64n) throw new RangeError('seed must be a whole number from 0 to 2^64 - 1; above 2^53 it must be a BigInt.');
  return whole;
}

function targetOf(headers: Record<string, unknown> = {}): string | undefined {
  const name = Object.keys(headers).find((name) => name.toLowerCase() === 'x-amz-target');
  return name === undefined ? undefined : String(headers[name]);
}

// A panic in one request becomes a 500 for that request. In wasm a panic is a trap, which is a RuntimeError in
// JavaScript.
function sound(request: () => Answer): Answer {
  try {
    return request();
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    const body = '{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"}';
    return {
      status: 500,
      headers: { 'content-type': 'application/x-amz-json-1.0' },
      body: encoder.encode(body),
      at: 0,
      delivery: { kind: 'whole' },
      note: `the engine failed: ${error.message}`,
    };
  }
}
