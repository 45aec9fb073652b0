// The twin as JavaScript has it: `Engine` from the wasm module, with defaults, dates and a door for the AWS SDK.
import { carry } from './delivery.js';
import { requestHandler } from './handler.js';
import { Engine } from './pkg/dynatwin.js';
import { pauses, retryStrategy } from './retries.js';

const CALLER = { accessKey: 'dynatwin', region: 'us-east-1' };
const encoder = new TextEncoder();
const bytesOf = (body) => (typeof body === 'string' ? encoder.encode(body) : (body ?? new Uint8Array()));
const iso = (moment) => (moment instanceof Date ? moment.toISOString() : moment);

export class Dynatwin {
  #engine;

  constructor({ seed = 0, conditions, clock, sharedTables = false, watch = false, ...others } = {}) {
    refuseOthers('Dynatwin', others);
    const start = clock?.start === undefined ? clock : { ...clock, start: iso(clock.start) };
    this.#engine = new Engine(seedOf(seed), conditions, iso(start), Boolean(sharedTables));
    this.clock = new Clock(this.#engine);
    this.faults = new Faults(this.#engine);
    if (watch) this.#engine.watch(true);
  }

  get seed() {
    return this.#engine.seed();
  }

  dispatch(target, body, caller) {
    const { accessKey, region } = { ...CALLER, ...caller };
    const full = target.includes('.') ? target : `DynamoDB_20120810.${target}`;
    return sound(() => this.#engine.dispatch(full, bytesOf(body), accessKey, region));
  }

  handle(method, path, headers, body) {
    const words = Object.entries(headers ?? {}).flatMap(([name, value]) => [name, String(value)]);
    return sound(() => this.#engine.handle(method, path, words, bytesOf(body)));
  }

  requestHandler(options) {
    return requestHandler(this, options);
  }

  clientConfig(caller) {
    const { accessKey, region } = { ...CALLER, ...caller };
    const credentials = { accessKeyId: accessKey, secretAccessKey: 'not checked' };
    return { region, credentials, requestHandler: this.requestHandler(), extensions: [this.pauses()] };
  }

  pauses() {
    return pauses(this.clock);
  }

  retryStrategy(strategy) {
    return retryStrategy(this.clock, strategy);
  }

  carry(answer, patience) {
    return carry(this.clock, answer, patience);
  }

  get conditions() {
    return this.#engine.conditions();
  }

  set conditions(conditions) {
    this.#engine.setConditions(conditions);
  }

  setTableConditions(table, conditions, caller) {
    const { accessKey, region } = { ...CALLER, ...caller };
    this.#engine.setTableConditions(accessKey, region, table, conditions);
  }

  pauseIndex(table, index, caller) {
    const { accessKey, region } = { ...CALLER, ...caller };
    this.#engine.pauseIndex(accessKey, region, table, index);
  }

  resumeIndex(table, index, caller) {
    const { accessKey, region } = { ...CALLER, ...caller };
    this.#engine.resumeIndex(accessKey, region, table, index);
  }

  setIndexLag(table, index, lag, caller) {
    const { accessKey, region } = { ...CALLER, ...caller };
    this.#engine.setIndexLag(accessKey, region, table, index, lag);
  }

  expireNow(table, caller) {
    const { accessKey, region } = { ...CALLER, ...caller };
    return this.#engine.expireNow(accessKey, region, table);
  }

  tables(caller) {
    const { accessKey, region } = { ...CALLER, ...caller };
    return this.#engine.tables(accessKey, region);
  }

  items(table, caller) {
    const { accessKey, region } = { ...CALLER, ...caller };
    return this.#engine.items(accessKey, region, table);
  }

  watch(watches = true) {
    this.#engine.watch(Boolean(watches));
  }

  get watched() {
    return this.#engine.isWatched();
  }

  requests() {
    return this.#engine.requests().map((request) => ({ ...request, at: new Date(request.at) }));
  }

  forgetRequests() {
    this.#engine.forgetRequests();
  }

  scans() {
    return this.#engine.scans().map((scan) => ({ ...scan, first: new Date(scan.first) }));
  }

  metrics(caller) {
    const { accessKey, region } = { ...CALLER, ...caller };
    return this.#engine.metrics(accessKey, region);
  }

  metricsByMinute(caller) {
    const { accessKey, region } = { ...CALLER, ...caller };
    const points = this.#engine.metricsByMinute(accessKey, region);
    return points.map(({ value: _, start, ...point }) => ({ start: new Date(start), ...point }));
  }

  hottestKeys(table, most = 10, caller) {
    const { accessKey, region } = { ...CALLER, ...caller };
    return this.#engine.hottestKeys(accessKey, region, table, most);
  }

  nextDue() {
    const due = this.#engine.nextDue();
    return due === undefined ? undefined : new Date(due);
  }

  runDue() {
    this.#engine.runDue();
  }

  reset({ all = false } = {}) {
    if (all) this.#engine.resetAll();
    else this.#engine.reset();
  }
}

class Clock {
  #engine;
  #sleepers = [];

  constructor(engine) {
    this.#engine = engine;
  }

  now() {
    return new Date(this.#engine.now());
  }

  advance(seconds) {
    this.#engine.advance(seconds);
    this.#wake();
  }

  set(moment) {
    this.#engine.set(iso(moment));
    this.#wake();
  }

  freeze() {
    this.#engine.freeze();
  }

  unfreeze() {
    this.#engine.unfreeze();
    this.#wake();
  }

  get frozen() {
    return this.#engine.isFrozen();
  }

  // Whoever sleeps on a frozen clock looks again when it was moved or goes on.
  #wake() {
    for (const wake of this.#sleepers.splice(0)) wake();
  }

  // A settable clock is moved by whoever sleeps on it; on one that runs, this takes real time.
  async sleep(milliseconds) {
    const end = this.#engine.now() + milliseconds;
    // The clock counts whole microseconds.
    for (let left = milliseconds; left >= 0.001; left = end - this.#engine.now()) {
      if (this.#engine.isFrozen()) {
        await new Promise((resolve) => this.#sleepers.push(resolve));
      } else if (this.#engine.isSettable()) {
        this.#engine.sleep(left);
      } else {
        await new Promise((resolve) => setTimeout(resolve, left / this.#engine.speed()));
      }
    }
  }

  get settable() {
    return this.#engine.isSettable();
  }
}

class Faults {
  #engine;

  constructor(engine) {
    this.#engine = engine;
  }

  add(rule) {
    return this.#engine.addFault(timed(rule));
  }

  startOutage(outage, scope) {
    return Array.from(this.#engine.startOutage(timed({ ...scope, outage })));
  }

  remove(id) {
    return this.#engine.removeFault(id);
  }

  clear() {
    this.#engine.clearFaults();
  }

  report() {
    return this.#engine.faults();
  }

  neverFired() {
    return this.#engine.idleFaults();
  }
}

// A rule's moments as texts.
function timed(rule) {
  if (!(rule?.after instanceof Date || rule?.until instanceof Date)) return rule;
  return { ...rule, after: iso(rule.after), until: iso(rule.until) };
}

function refuseOthers(what, others) {
  const [name] = Object.keys(others);
  if (name !== undefined) throw new TypeError(`${what} has no option "${name}".`);
}

function seedOf(seed) {
  const whole = typeof seed === 'bigint' ? seed : Number.isSafeInteger(seed) ? BigInt(seed) : -1n;
  if (whole < 0n || whole >= 1n << 64n) throw new RangeError('seed is a whole number from 0 to 2^64 - 1.');
  return whole;
}

// A bug in one request is a 500 for that request. In wasm a panic is a trap, which shows as a RuntimeError.
function sound(request) {
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
