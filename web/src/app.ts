// The app's state and actions: one object, which the views read through signals.
import { batch, computed, signal } from '@preact/signals';
import { CodeRun } from './run/code-run';
import { prepare } from './run/runner';
import { packed, unpacked } from './encode';
import { checked, fromFragment, isLink, START, type Act, type Base, type Session, type Step } from './session';
import { keep, kept } from './keep';
import { Feed } from './feed';
import { idOf, Tables } from './tables';
import { DAY, FAST_TICK, TICK, Timeline } from './timeline';
import { Control, type Conditions, type FaultReport, type Overview } from './transport/control';
import { call, DEFAULT_ACCOUNT, ownerOf, ServiceError, type Account } from './transport/dynamodb';
import type { Transport } from './transport/transport';
import { EXAMPLES, OPENING, type Example } from './examples';
import opening from './examples/opening.mjs?raw';

/** How long reads of a table take that were sent before it is deleted, in milliseconds of real time. */
const LAST_READS = 200;
/** The longest run of a lesson, by the emulator's clock. */
const LONGEST_LESSON = 30 * DAY;
/** A session with more requests is restored from a snapshot after a reload: repeating them would take seconds. */
const MOST_REPLAYED = 3_000;
/** In place of a request's number: the request is yet to be sent. */
export const PENDING = 0;
/** The first bytes of every snapshot file. */
const SNAPSHOT = 'dynatwin snapshot';
const SILENT = 'The server does not answer.';
const UNREADABLE = 'The link cannot be read: a part of it may be missing.';
const UNKNOWN_FILE = 'The file is neither a session, nor a snapshot, nor a data model of NoSQL Workbench.';

/** The panels below the stage. */
export const PANELS = ['Requests', 'Tables', 'Items', 'Query', 'Expressions', 'Conditions'] as const;
export type Panel = (typeof PANELS)[number];

/** The members of a kept session that links do not have. */
interface View {
  /** Whether time played. */
  playing: boolean;
  panel: Panel;
  /** The id of the selected table. */
  table: string | undefined;
}

export class App {
  readonly control: Control;
  readonly feed: Feed;
  readonly tables: Tables;
  readonly time: Timeline;
  readonly run: CodeRun;

  readonly failure = signal<string | undefined>(undefined);
  /** Whether the server allows changes of the clock, conditions and faults (no `--no-control`). */
  readonly controlled = signal(true);
  readonly version = signal('');
  /** Whose tables a lesson uses on a server. */
  readonly #learner = signal<Account | undefined>(undefined);
  /** Whose requests the page sends for the user: the owner of the selected table. On a server, code runs as that account too. */
  readonly account = computed<Account>(() => this.#learner.value ?? ownerOf(this.tables.current.value));

  readonly seed = signal(OPENING.seed ?? 7);
  readonly code = signal(opening);
  readonly example = signal<string | undefined>(OPENING.id);
  /** The code of the example as it was loaded. */
  original = opening;
  readonly script = signal<Step[]>([]);
  /** The table that the code used and that does not exist, and whose it would be. */
  readonly missing = computed(() => {
    const request = this.run.missed.value && this.run.state.value !== 'running' ? this.feed.lastOfMissingTable() : undefined;
    return request && { table: request.tables[0] ?? '', account: request.caller };
  });

  readonly conditions = signal<Conditions | undefined>(undefined);
  readonly preset = signal<string>('calm');
  readonly faults = signal<FaultReport[]>([]);
  /** The number of the request that is looked at, or `PENDING`. */
  readonly opened = signal<number | undefined>(undefined);
  /** The panel that is shown. */
  readonly panel = signal<Panel>('Requests');
  /** A text for screen readers: the latest change. */
  readonly news = signal('');

  #queue: Promise<unknown> = Promise.resolve();
  #starting: Promise<void> = Promise.resolve();
  #keeping: ReturnType<typeof setTimeout> | undefined;
  /** The state that the session began with. */
  #base: Base | undefined;
  /** What is kept for a reload in place of a script that is too long. */
  #checkpoint: { base: Base; script: Step[]; until: number } | undefined;
  #checkpointDue = 0;
  /** Whether anything has changed since the checkpoint. */
  #unsaved = false;
  #lastFrame = 0;

  constructor(readonly transport: Transport) {
    if (!this.isTab) this.panel.value = 'Tables';
    this.control = new Control(transport);
    this.feed = new Feed(this.control);
    this.tables = new Tables(this);
    this.run = new CodeRun(
      transport,
      () => this.time.moment,
      () => {
        this.time.forgetTimer();
        this.tables.touch();
      },
    );
    this.time = new Timeline({
      control: this.control,
      ready: () => this.#starting,
      serially: (work) => this.#serially(work),
      tick: (moment) => this.run.tick(moment),
      moved: () => {
        this.tables.touch();
        this.#keepSession();
      },
    });
  }

  get isTab(): boolean {
    return this.transport.home === 'tab';
  }

  // ── Start ──────────────────────────────────────────────────────────────────────────────────────

  /** Starts with the session of the link, the one that was kept, or the opening example. */
  async start(): Promise<void> {
    const begun = this.#wholly(() => this.#begin());
    // A link that is followed before the start is complete is opened afterwards.
    addEventListener('hashchange', ({ newURL }) => void this.#arrive(new URL(newURL).hash));
    await begun;
    performance.mark('interactive');
    // Code that has not run and what is shown are kept too.
    for (const one of [this.code, this.panel, this.tables.selected]) one.subscribe(() => this.#store());
    this.#follow();
  }

  async #begin(): Promise<void> {
    const { hash } = location;
    const shown = this.panel.value;
    const linked = await fromFragment(hash);
    const stored = await kept(`session-${this.transport.home}`);
    const found = linked ?? checked(stored);
    const view = linked ? {} : ((stored ?? {}) as Partial<View>);
    // A panel that the user has opened meanwhile stays.
    if (view.panel && PANELS.includes(view.panel) && this.panel.value === shown) this.panel.value = view.panel;
    this.tables.selected.value = view.table;
    if (this.isTab) {
      prepare();
      if (found && (linked || found.base || found.script.length > 0)) {
        await this.replay(found);
        this.time.playing.value = view.playing === true;
      } else await this.#open(OPENING);
      if (found?.base && !linked && !found.script.some(({ act }) => act.do === 'run')) {
        this.run.note('Tables, items, conditions and the clock are restored. The request log begins here, and no code runs.');
      }
      if (linked) this.#welcome(hash);
      else if (isLink(hash)) this.run.note(UNREADABLE);
    } else {
      if (found) batch(() => ((this.code.value = found.code), (this.example.value = found.example)));
      await this.#refresh();
      this.preset.value = '';
      if (this.controlled.value) await this.control.watch().catch(() => {});
    }
  }

  async #arrive(hash: string): Promise<void> {
    if (!this.isTab || !isLink(hash)) return;
    const linked = await fromFragment(hash);
    await this.#wholly(async () => {
      if (linked) {
        await this.replay(linked);
        this.#welcome(hash);
      } else this.run.note(UNREADABLE);
    });
  }

  // From here on the session is the user's own: a reload must not go back to the link.
  #welcome(hash: string): void {
    if (location.hash === hash) history.replaceState(null, '', location.pathname + location.search);
    const text = 'This is the session of the link you followed, at the moment it was shared.';
    this.news.value = text;
    this.run.note(text);
  }

  /** Loads an example, and runs it from the start. */
  open(example: Example): Promise<void> {
    return this.#wholly(() => this.#open(example));
  }

  async #open(example: Example): Promise<void> {
    this.time.playing.value = false;
    const code = await example.load();
    batch(() => {
      this.code.value = code;
      this.original = code;
      this.example.value = example.id;
      if (example.seed !== undefined) this.seed.value = example.seed;
    });
    if (!this.isTab) return;
    this.#base = undefined;
    this.opened.value = example.shows ? PENDING : undefined;
    await this.restart();
    if (example.conditions) await this.act({ do: 'conditions', change: example.conditions });
    for (const [operation, body] of example.setup ?? []) await this.request(operation, body, DEFAULT_ACCOUNT);
    await this.act({ do: 'run', code });
    this.time.speed.value = example.speed ?? 1;
    if (example.kind === 'lesson') await this.advanceToEnd(LONGEST_LESSON);
    else this.time.playing.value = true;
    await this.feed.refresh();
    this.opened.value = this.feed.requests.value.findLast(({ operation }) => operation === example.shows)?.number;
    this.#keepSession();
  }

  /** A new engine with the same seed, in the state that the session began with. */
  async restart(): Promise<void> {
    await this.#serially(async () => {
      this.run.stop();
      await this.transport.restart({ seed: this.seed.value, moment: new Date(START).toISOString() });
      if (this.#base) await this.control.restore(await unpacked(this.#base.snapshot));
      await this.control.watch();
      this.#checkpoint = undefined;
      this.feed.clear();
      this.tables.clear();
      if (this.#base) this.tables.adopt(this.#base.definitions);
      batch(() => {
        this.script.value = [];
        this.run.clear();
        if (this.opened.value !== PENDING) this.opened.value = undefined;
        this.preset.value = this.#base ? '' : 'calm';
        this.faults.value = [];
      });
      this.time.forgetTimer();
      await this.#refresh();
    });
  }

  /** Runs the code in the editor: on a new engine, or on the existing tables. */
  runCode(keepTables = false): Promise<void> {
    return this.#wholly(() => this.#runCode(keepTables));
  }

  async #runCode(keepTables: boolean): Promise<void> {
    this.time.playing.value = false;
    if (this.isTab && !keepTables) {
      const before = this.script.value.filter(({ act }) => act.do === 'conditions' || act.do === 'fault' || act.do === 'outage');
      if (!this.#base?.opened) this.#base = undefined;
      const setup = EXAMPLES.find(({ id }) => id === this.example.value)?.setup ?? [];
      await this.restart();
      for (const { act } of before) await this.act(act);
      for (const [operation, body] of setup) await this.request(operation, body, DEFAULT_ACCOUNT);
    }
    await this.act({ do: 'run', code: this.code.value });
    this.time.playing.value = this.time.settable.value && this.controlled.value;
  }

  /** Whether lessons can run: they need conditions and a clock of their own. */
  get teaches(): boolean {
    return this.isTab || (this.time.settable.value && this.controlled.value);
  }

  /** Runs the code in the editor under conditions to its end; returns what it reported, and whether it ended. */
  async lesson(preset: 'calm' | 'aws' | 'storm'): Promise<{ results: unknown[]; ended: boolean }> {
    let result = { results: [] as unknown[], ended: false };
    await this.#wholly(async () => {
      result = await this.#lesson(preset);
    });
    return result;
  }

  async #lesson(preset: 'calm' | 'aws' | 'storm'): Promise<{ results: unknown[]; ended: boolean }> {
    const results: unknown[] = [];
    this.time.playing.value = false;
    this.run.onResult = (result) => results.push(result);
    const leave = this.isTab ? await this.restart() : await this.#visit();
    try {
      await this.act({ do: 'conditions', change: preset });
      await this.act({ do: 'run', code: this.code.value });
      await this.advanceToEnd(LONGEST_LESSON);
      return { results, ended: this.run.state.value === 'ended' };
    } finally {
      this.run.onResult = undefined;
      await leave?.();
    }
  }

  // On a server a lesson's tables belong to a separate account, and are deleted after it; its conditions are restored.
  async #visit(): Promise<() => Promise<void>> {
    const { conditions } = await this.control.overview();
    const before = new Set((await this.control.of(LEARNER).tables()).map(({ table }) => table));
    this.#learner.value = LEARNER;
    return async () => {
      this.run.stop();
      await this.control.setConditions('calm');
      const learnt = (await this.control.tables()).filter(({ table, accessKey }) => (accessKey === undefined ? !before.has(table) : accessKey === LEARNER.accessKey));
      const ids = learnt.map(({ table, accessKey, region }) => idOf(table, { accessKey, region }));
      this.tables.hide(ids);
      await new Promise((done) => setTimeout(done, LAST_READS));
      for (const { table, accessKey, region } of learnt) await call(this.transport, ownerOf({ accessKey, region }), 'DeleteTable', { TableName: table });
      this.tables.show(ids);
      await this.control.setConditions(conditions as unknown as Record<string, unknown>);
      this.#learner.value = undefined;
      await this.#refresh();
    };
  }

  // ── Sessions ───────────────────────────────────────────────────────────────────────────────────

  session(): Session {
    const { code, example, script, seed } = this;
    return {
      version: 2,
      seed: seed.value,
      ...(this.#base ? { base: this.#base } : {}),
      code: code.value,
      ...(example.value ? { example: example.value } : {}),
      script: script.value,
      until: Math.round(this.time.moment - START),
    };
  }

  /** Replays the actions of a session at the same moments. */
  async replay(session: Session): Promise<void> {
    this.time.playing.value = false;
    this.#base = session.base;
    this.original = session.code;
    batch(() => {
      this.seed.value = session.seed;
      this.code.value = session.code;
      this.example.value = session.example;
    });
    await this.restart();
    for (const { at, act } of session.script) {
      await this.time.advanceTo(START + at);
      await this.act(act).catch(() => {});
    }
    await this.time.advanceTo(START + session.until);
    await this.feed.refresh();
  }

  #keepSession(): void {
    this.#unsaved = true;
    this.#store();
  }

  #store(): void {
    this.#keeping ??= setTimeout(() => {
      this.#keeping = undefined;
      const view: View = { playing: this.time.playing.value && !this.#checkpoint, panel: this.panel.value, table: this.tables.selected.value };
      void keep(`session-${this.transport.home}`, { ...this.session(), ...this.#checkpoint, ...view });
    }, 300);
  }

  // Takes a snapshot of a long session occasionally, but not so often that the user has to wait.
  async #checkpointed(): Promise<void> {
    const now = performance.now();
    if (!this.isTab || !this.#unsaved || this.feed.seen < MOST_REPLAYED || (this.time.playing.value && now < this.#checkpointDue)) return;
    this.#unsaved = false;
    this.#checkpoint = await this.#snapshotted();
    this.#checkpointDue = performance.now() + 2_000 + 20 * (performance.now() - now);
    this.#store();
  }

  async #snapshotted(): Promise<{ base: Base; script: Step[]; until: number }> {
    const bytes = await this.control.snapshot();
    const until = Math.round(this.time.moment - START);
    const rules = this.faults.value.map(({ rule }): Step => ({ at: until, act: { do: 'fault', rule } }));
    return { base: { snapshot: await packed(bytes), definitions: this.tables.definitions, opened: this.#base?.opened ?? false }, script: rules, until };
  }

  /** Opens a file: a session, a snapshot, or a data model of NoSQL Workbench. Returns the kind of file. */
  openFile(bytes: Uint8Array): Promise<string> {
    let opened = '';
    return this.#wholly(async () => {
      opened = await this.#openFile(bytes);
    }).then(() => opened);
  }

  async #openFile(bytes: Uint8Array): Promise<string> {
    const text = new TextDecoder().decode(bytes);
    if (text.startsWith(SNAPSHOT)) {
      if (!this.isTab) throw new Error('A snapshot would replace all tables of this server: PUT /_dynatwin/snapshot does that.');
      await this.#continueFrom({ base: { snapshot: await packed(bytes), definitions: [], opened: true }, script: [], until: 0 });
      return 'The snapshot has been restored.';
    }
    let content: unknown;
    try {
      content = JSON.parse(text);
    } catch {
      throw new Error(UNKNOWN_FILE);
    }
    const session = checked(content);
    if (session && this.isTab) {
      await this.replay(session);
      return 'The session has been restored to the moment at which it was saved.';
    }
    const { isModel, requestsOf } = await import('./workbench');
    if (!isModel(content)) throw new Error(UNKNOWN_FILE);
    for (const [operation, body] of requestsOf(content)) await this.#send(operation, body);
    if (this.isTab) await this.#continueFrom(await this.#snapshotted());
    const made = content.DataModel.map(({ TableName }) => TableName);
    if (made[0]) this.tables.select(made[0], this.account.value);
    return `Created ${made.join(', ')}.`;
  }

  // A request that may have to wait for a table, or for throughput.
  async #send(operation: string, body: Record<string, unknown>): Promise<void> {
    let rest: Record<string, unknown> | undefined = body;
    for (let attempt = 0; rest && attempt < 100; attempt += 1) {
      try {
        const answer: Record<string, unknown> = await call(this.transport, this.account.value, operation, rest);
        const left = answer['UnprocessedItems'] as object | undefined;
        rest = left && Object.keys(left).length > 0 ? { RequestItems: left } : undefined;
      } catch (error) {
        if (!(error instanceof ServiceError) || !/ResourceNotFound|Throughput|Throttling|LimitExceeded/.test(error.name)) throw error;
      }
      await this.feed.refresh();
      await this.tables.refresh();
      if (rest && this.controlled.value) await this.time.advanceTo(this.time.moment + 1_000);
      else if (rest) await new Promise((done) => setTimeout(done, 200));
    }
    if (rest) throw new Error(`${operation} was refused again and again.`);
  }

  // Makes a state the start of the session: links and reloads begin there.
  async #continueFrom({ base, script, until }: { base: Base; script: Step[]; until: number }): Promise<void> {
    this.time.playing.value = false;
    this.example.value = undefined;
    this.#base = { ...base, opened: true };
    await this.restart();
    for (const { act } of script) await this.act(act);
    if (until > 0) await this.time.advanceTo(START + until);
    await this.tables.refresh();
    this.#keepSession();
  }

  // ── Acts ───────────────────────────────────────────────────────────────────────────────────────

  /** Does something at this moment, once nothing moves, and remembers it for replays. */
  async act(act: Act): Promise<unknown> {
    return this.#serially(async () => {
      await this.time.settle();
      if (this.isTab) this.script.value = [...this.script.value, { at: Math.round(this.time.moment - START), act }];
      const result = await this.#carryOut(act);
      await this.time.settle();
      await this.#refresh();
      this.tables.touch();
      this.#keepSession();
      return result;
    });
  }

  /** Sends a request of the API for the user: as the owner of the selected table, unless another account is given. */
  request(operation: string, body: unknown, account = this.account.value): Promise<unknown> {
    return this.act({ do: 'request', account, operation, body });
  }

  async #carryOut(act: Act): Promise<unknown> {
    const { control } = this;
    switch (act.do) {
      case 'run':
        return this.#startRun(act.code);
      case 'stop':
        return this.run.stop();
      case 'conditions':
        await control.setConditions(act.change);
        this.preset.value = typeof act.change === 'string' ? act.change : 'own';
        return undefined;
      case 'fault':
        return control.addFault(act.rule);
      case 'outage':
        return control.startOutage(act.outage);
      case 'unfault':
        return control.removeFault(act.id);
      case 'pause':
        return control.of(act.account).pauseIndex(act.table, act.index);
      case 'resume':
        return control.of(act.account).resumeIndex(act.table, act.index);
      case 'pauseReplication':
        return control.of(act.account).pauseReplication(act.table, act.region);
      case 'resumeReplication':
        return control.of(act.account).resumeReplication(act.table, act.region);
      case 'expire':
        return control.of(act.account).expireNow(act.table);
      case 'request':
        return call(this.transport, act.account, act.operation, act.body);
    }
  }

  #startRun(code: string): void {
    this.run.stop();
    if (!this.isTab || this.script.value.length <= 1) this.run.clearOutput();
    this.run.start({
      code,
      seed: this.#seedOfRun(),
      trusted: code === this.original,
      settable: this.time.settable.value,
      base: this.isTab ? '' : serverBase(),
      account: this.isTab ? DEFAULT_ACCOUNT : this.account.value,
    });
  }

  // Each run has different random numbers: client tokens that an earlier run has used would be valid for ten minutes.
  #seedOfRun(): number {
    if (!this.isTab) return crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
    const runs = this.script.value.filter(({ act }) => act.do === 'run').length;
    return this.seed.value + Math.max(0, runs - 1);
  }

  /** Ends the code at once, whatever it does. */
  stopCode(): void {
    this.time.interrupt();
    this.run.stop();
    this.run.note('Stopped.');
    void this.act({ do: 'stop' });
  }

  // ── Time ───────────────────────────────────────────────────────────────────────────────────────

  /** Moves the clock on until the code has ended, at most by `limit` milliseconds. */
  async advanceToEnd(limit: number): Promise<void> {
    await this.time.advanceUntil(() => this.run.state.value !== 'running', limit);
  }

  // Advances time while playing, and refreshes the views.
  #follow(): void {
    const beat = async () => {
      const frame = performance.now();
      const passed = Math.min(250, frame - this.#lastFrame);
      this.#lastFrame = frame;
      try {
        if (!document.hidden) {
          if (this.failure.value === SILENT) await this.#reconnect();
          if (this.time.playing.value && this.time.settable.value && !this.time.moving.value) {
            await this.time.advanceTo(this.time.moment + Math.max(1, Math.round(passed * this.time.speed.value)));
          } else if (!this.time.settable.value) this.time.take(await this.control.clock());
          if (await this.feed.refresh()) this.tables.touch();
          await this.tables.refresh();
          await this.#checkpointed();
        }
      } catch (error) {
        if (!this.isTab) this.failure.value = SILENT;
        else throw error;
      }
      // A lesson and a move of the user run as fast as they can: showing each moment would slow them down.
      const { moving, playing, target } = this.time;
      const pace = target.value !== undefined ? FAST_TICK : moving.value && !playing.value ? 4 * TICK : TICK;
      setTimeout(() => void beat(), this.isTab ? Math.max(8, pace - (performance.now() - frame)) : 400);
    };
    this.#lastFrame = performance.now();
    void beat();
  }

  // A server that answers again may have been restarted, with other tables and an empty log.
  async #reconnect(): Promise<void> {
    await this.#refresh();
    if (this.controlled.value) await this.control.watch();
    this.feed.clear();
    this.tables.clear();
    this.failure.value = undefined;
  }

  /** Reads the state of the whole engine. */
  async #refresh(): Promise<void> {
    const [overview, faults] = await Promise.all([this.control.overview(), this.control.faults()]);
    this.#takeOverview(overview);
    this.faults.value = faults;
  }

  #takeOverview(overview: Overview): void {
    batch(() => {
      this.time.take(overview.clock);
      this.time.publish();
      this.controlled.value = overview.controlled;
      this.version.value = overview.version;
      this.conditions.value = overview.conditions;
      this.tables.shared.value = overview.sharedTables;
      if (!this.isTab) this.seed.value = Number(overview.seed);
    });
  }

  // Several actions that belong together: clicks meanwhile are handled after them.
  #wholly(work: () => Promise<void>): Promise<void> {
    const result = this.#starting.then(work);
    this.#starting = result.catch(() => {});
    return result;
  }

  // Actions run one after the other: time does not move during an action.
  #serially<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => {});
    return result;
  }
}

const LEARNER: Account = { accessKey: 'lesson', region: 'us-east-1' };

/** The server's address, of the path that this page lies at. */
export function serverBase(): string {
  return location.origin + location.pathname.replace(/\/_dynatwin\/ui\b.*$/, '');
}
