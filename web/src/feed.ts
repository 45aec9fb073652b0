// Requests and events from the engine, each read once from a cursor.
import { signal } from '@preact/signals';
import type { Attributes, Control, EngineEvent, RegionalWrite, RecordedRequest } from './transport/control';
import { APP_ACCOUNT } from './transport/dynamodb';

/** How many requests are kept for the views. */
const MOST = 2_000;
const PAGE = 1_000;

/** Two writes of an item in two regions, of which neither had seen the other. */
export interface Conflict {
  at: string;
  accessKey: string;
  table: string;
  key: Attributes;
  lost: RegionalWrite;
  won: RegionalWrite;
}

export class Feed {
  /** The age in seconds of the states that stale reads observed, by request number. */
  readonly ages = signal<ReadonlyMap<number, number>>(new Map());
  /** The latest conflicts between regions, the oldest first; every region reports each, and it is listed once. */
  readonly conflicts = signal<Conflict[]>([]);
  readonly requests = signal<RecordedRequest[]>([]);
  #after = 0;
  #next = 0;
  /** How many requests there were. */
  seen = 0;
  #reading: Promise<unknown> = Promise.resolve();
  /** Grows when the log restarts: entries of an older log are not shown. */
  #log = 0;
  #listeners = new Set<(request: RecordedRequest) => void>();
  #watchers = new Set<(event: EngineEvent) => void>();

  constructor(readonly control: Control) {}

  /** Calls `listener` with each request that arrives from now on. */
  listen(listener: (request: RecordedRequest) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `watcher` with each event that arrives from now on. */
  watch(watcher: (event: EngineEvent) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  clear(): void {
    this.#log += 1;
    this.#after = 0;
    this.#next = 0;
    this.seen = 0;
    this.ages.value = new Map();
    this.conflicts.value = [];
    this.requests.value = [];
  }

  /** Reads new entries; returns whether there were any. Reads are sequential, so that nothing is read twice. */
  refresh(): Promise<boolean> {
    const read = this.#reading.then(async () => {
      const requests = await this.#readRequests();
      return (await this.#readEvents()) || requests;
    });
    this.#reading = read.catch(() => {});
    return read;
  }

  async #readEvents(): Promise<boolean> {
    let found = false;
    const log = this.#log;
    for (;;) {
      const { events, next } = await this.control.events(this.#next, PAGE);
      if (log !== this.#log) return found;
      this.#next = next;
      found ||= events.length > 0;
      const stale = events.filter(({ age, request }) => age !== undefined && request !== undefined);
      if (stale.length > 0) this.ages.value = new Map([...this.ages.value, ...stale.map(({ request, age }) => [request, age] as [number, number])]);
      this.#addConflicts(events);
      for (const event of events) for (const watcher of this.#watchers) watcher(event);
      if (events.length < PAGE) return found;
    }
  }

  #addConflicts(events: EngineEvent[]): void {
    const known = this.conflicts.value;
    const fresh: Conflict[] = [];
    for (const { kind, at, accessKey, table, key, lost, won } of events) {
      if (kind !== 'replicationConflict' || !table || !key || !lost || !won) continue;
      const conflict = { at, accessKey, table, key, lost, won };
      if (![...known.slice(-50), ...fresh].some((other) => isSameConflict(other, conflict))) fresh.push(conflict);
    }
    if (fresh.length > 0) this.conflicts.value = [...known, ...fresh].slice(-MOST);
  }

  /** All events that the engine remembers. */
  async log(): Promise<EngineEvent[]> {
    return (await this.control.events(0, 20_000)).events;
  }

  async #readRequests(): Promise<boolean> {
    let found = false;
    const log = this.#log;
    for (;;) {
      const requests = await this.control.requests({ after: this.#after, limit: PAGE });
      const last = requests.at(-1);
      if (!last || log !== this.#log) return found;
      this.#after = last.number;
      const fresh = requests.filter(({ caller }) => caller.accessKey !== APP_ACCOUNT.accessKey);
      if (fresh.length > 0) {
        found = true;
        this.seen += fresh.length;
        this.requests.value = [...this.requests.value, ...fresh].slice(-MOST);
        for (const request of fresh) for (const listener of this.#listeners) listener(request);
      }
      if (requests.length < PAGE) return found;
    }
  }

  /** The last request that named a table that is not there. */
  lastOfMissingTable(): RecordedRequest | undefined {
    return this.requests.value.findLast(({ error, tables }) => error === 'ResourceNotFoundException' && tables.length > 0);
  }
}

const isSameConflict = (one: Conflict, other: Conflict) => one.table === other.table && one.accessKey === other.accessKey && JSON.stringify([one.key, one.lost, one.won]) === JSON.stringify([other.key, other.lost, other.won]);
