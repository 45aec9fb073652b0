// The app's state and what can be done: one object, which the views read by signals.
import { batch, computed, signal } from '@preact/signals';
import { Run, type Ending, type Line } from './run/runner';
import { checked, fromFragment, START, type Act, type Session, type Step } from './session';
import { keep, kept } from './keep';
import { Feed } from './feed';
import { Tables } from './tables';
import { Control, type ClockState, type Conditions, type FaultReport, type Overview } from './transport/control';
import { call, ServiceError, type Account } from './transport/dynamodb';
import type { Transport } from './transport/transport';
import { EXAMPLES, OPENING, type Example } from './examples';

export type RunState = 'idle' | 'running' | 'ended' | 'failed' | 'stopped';

/** The access key of the app's own requests, which are left out of the log. */
export const APP_ACCOUNT: Account = { accessKey: 'dynatwin-ui', region: 'us-east-1' };

const DAY = 86_400_000;
/** A longest wait for the code between two moves of the clock, in milliseconds of real time. */
const TICK = 50;
const MOST_LINES = 2_000;

export class App {
  readonly control: Control;
  readonly feed: Feed;
  readonly tables: Tables;

  readonly ready = signal(false);
  readonly failure = signal<string | undefined>(undefined);
  /** Whether the server refuses changes. */
  readonly controlled = signal(true);
  readonly version = signal('');
  readonly account = signal<Account>(APP_ACCOUNT);

  readonly seed = signal(OPENING.seed ?? 7);
  readonly code = signal(OPENING.code);
  readonly example = signal<string | undefined>(OPENING.id);
  readonly script = signal<Step[]>([]);
  readonly output = signal<Line[]>([]);
  readonly runState = signal<RunState>('idle');
  /** Whether the code printed that a table is not there. */
  readonly missed = signal(false);
  /** The table that the code asked for and that was not there. */
  readonly missing = computed(() => (this.missed.value && this.runState.value !== 'running' ? this.feed.lastMissingTable() : undefined));

  readonly now = signal(START);
  readonly settable = signal(true);
  readonly playing = signal(false);
  readonly speed = signal(1);
  readonly moving = signal(false);
  readonly nextDue = signal<number | undefined>(undefined);
  readonly nextTimer = signal<number | undefined>(undefined);
  readonly next = computed(() => {
    const times = [this.nextDue.value, this.nextTimer.value].filter((one): one is number => one !== undefined && one > this.now.value);
    return times.length ? Math.min(...times) : undefined;
  });

  readonly conditions = signal<Conditions | undefined>(undefined);
  readonly preset = signal<string>('calm');
  readonly faults = signal<FaultReport[]>([]);
  /** Words for whoever listens: what has just happened. */
  readonly news = signal('');

  /** Called with what code passes to `process.send`, as lessons do with their outcome. */
  onVerdict: ((verdict: unknown) => void) | undefined;

  // The clock as it is; the signals follow it a few times a second while it moves.
  #moment = START;
  #due: number | undefined;
  #timer: number | undefined;
  #published = 0;
  #run: Run | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #starting: Promise<void> = Promise.resolve();
  #halt = false;
  #keeping: ReturnType<typeof setTimeout> | undefined;
  #lastFrame = 0;

  constructor(readonly transport: Transport) {
    this.control = new Control(transport);
    this.feed = new Feed(this.control);
    this.tables = new Tables(this);
  }

  get isTab(): boolean {
    return this.transport.home === 'tab';
  }

  // ── Start ──────────────────────────────────────────────────────────────────────────────────────

  /** Starts with the session of the link, the one that was kept, or the opening example. */
  async start(): Promise<void> {
    await this.#wholly(() => this.#begin());
    this.ready.value = true;
    this.#follow();
    addEventListener('hashchange', () => void this.#arrive());
  }

  async #begin(): Promise<void> {
    const linked = await fromFragment(location.hash);
    const stored = await kept(`session-${this.transport.home}`);
    const found = linked ?? checked(stored);
    if (this.isTab) {
      if (found && (linked || found.script.length > 0)) {
        await this.replay(found);
        this.playing.value = !linked && (stored as { playing?: boolean }).playing === true;
      } else await this.#open(OPENING);
      if (linked) this.news.value = 'This is the session of the link you followed, at the moment it was shared.';
    } else {
      if (found) batch(() => ((this.code.value = found.code), (this.example.value = found.example)));
      await this.#look();
      this.preset.value = '';
      if (this.controlled.value) await this.control.watch().catch(() => {});
    }
  }

  async #arrive(): Promise<void> {
    const linked = await fromFragment(location.hash);
    if (linked && this.isTab) await this.replay(linked);
  }

  /** Loads an example, and runs it from the start. */
  open(example: Example): Promise<void> {
    return this.#wholly(() => this.#open(example));
  }

  async #open(example: Example): Promise<void> {
    this.playing.value = false;
    batch(() => {
      this.code.value = example.code;
      this.example.value = example.id;
      if (example.seed !== undefined) this.seed.value = example.seed;
    });
    if (!this.isTab) return;
    await this.restart();
    if (example.conditions) await this.act({ do: 'conditions', change: example.conditions });
    for (const [operation, body] of example.setup ?? []) await this.act({ do: 'request', operation, body });
    await this.act({ do: 'run', code: example.code });
    this.speed.value = example.speed ?? 1;
    this.playing.value = true;
    this.#keepSession();
  }

  /** A new engine, with the same seed, and nothing done yet. */
  async restart(): Promise<void> {
    await this.#serially(async () => {
      this.#endRun();
      await this.transport.restart({ seed: this.seed.value, moment: new Date(START).toISOString() });
      await this.control.watch();
      this.feed.clear();
      this.tables.clear();
      batch(() => {
        this.script.value = [];
        this.output.value = [];
        this.runState.value = 'idle';
        this.missed.value = false;
        this.preset.value = 'calm';
        this.faults.value = [];
      });
      this.#timer = undefined;
      await this.#look();
    });
  }

  /** Runs the code in the editor: on a new engine, or on the tables there are. */
  runCode(keepTables = false): Promise<void> {
    return this.#wholly(() => this.#runCode(keepTables));
  }

  async #runCode(keepTables: boolean): Promise<void> {
    this.playing.value = false;
    if (this.isTab && !keepTables) {
      const before = this.script.value.filter(({ act }) => act.do === 'conditions' || act.do === 'fault' || act.do === 'outage');
      const setup = EXAMPLES.find(({ id }) => id === this.example.value)?.setup ?? [];
      await this.restart();
      for (const { act } of before) await this.act(act);
      for (const [operation, body] of setup) await this.act({ do: 'request', operation, body });
    }
    await this.act({ do: 'run', code: this.code.value });
    this.playing.value = this.settable.value && this.controlled.value;
  }

  // ── Sessions ───────────────────────────────────────────────────────────────────────────────────

  session(): Session {
    const { code, example, script, seed } = this;
    return {
      version: 1,
      seed: seed.value,
      code: code.value,
      ...(example.value ? { example: example.value } : {}),
      script: script.value,
      until: Math.round(this.#moment - START),
    };
  }

  /** Does again what a session says, at the same moments. */
  async replay(session: Session): Promise<void> {
    this.playing.value = false;
    batch(() => {
      this.seed.value = session.seed;
      this.code.value = session.code;
      this.example.value = session.example;
    });
    await this.restart();
    for (const { at, act } of session.script) {
      await this.advanceTo(START + at);
      await this.act(act).catch(() => {});
    }
    await this.advanceTo(START + session.until);
    await this.feed.refresh();
  }

  #keepSession(): void {
    this.#keeping ??= setTimeout(() => {
      this.#keeping = undefined;
      void keep(`session-${this.transport.home}`, { ...this.session(), playing: this.playing.value });
    }, 300);
  }

  // ── Acts ───────────────────────────────────────────────────────────────────────────────────────

  /** Does something at this moment, once nothing moves, and remembers it for replays. */
  async act(act: Act): Promise<unknown> {
    return this.#serially(async () => {
      await this.#settle();
      if (this.isTab) this.script.value = [...this.script.value, { at: Math.round(this.#moment - START), act }];
      const result = await this.#carryOut(act);
      await this.#settle();
      await this.#look();
      this.tables.touch();
      this.#keepSession();
      return result;
    });
  }

  async #carryOut(act: Act): Promise<unknown> {
    const { control } = this;
    switch (act.do) {
      case 'run':
        return this.#startRun(act.code);
      case 'stop':
        return this.#endRun();
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
        return control.pauseIndex(act.table, act.index);
      case 'resume':
        return control.resumeIndex(act.table, act.index);
      case 'expire':
        return control.expireNow(act.table);
      case 'request':
        return call(this.transport, this.isTab ? USER_ACCOUNT : this.account.value, act.operation, act.body);
    }
  }

  #startRun(code: string): void {
    this.#endRun();
    batch(() => {
      this.runState.value = 'running';
      this.missed.value = false;
      if (!this.isTab || this.script.value.length <= 1) this.output.value = [];
    });
    const run: Run = new Run(this.transport, {
      code,
      now: this.#moment,
      seed: this.seed.value,
      settable: this.settable.value,
      base: this.isTab ? '' : serverBase(),
      env: {
        AWS_REGION: this.account.value.region,
        AWS_DEFAULT_REGION: this.account.value.region,
        AWS_ACCESS_KEY_ID: this.isTab ? USER_ACCOUNT.accessKey : this.account.value.accessKey,
        AWS_SECRET_ACCESS_KEY: 'not-checked',
      },
      onLine: (line) => this.print(line),
      onMessage: (message) => this.onVerdict?.(message),
      onEnd: (ending) => run === this.#run && this.#ended(ending),
    });
    this.#run = run;
  }

  #ended({ code, error, stopped }: Ending): void {
    batch(() => {
      this.runState.value = stopped ? 'stopped' : code === 0 ? 'ended' : 'failed';
      this.#timer = undefined;
      if (!stopped && !error) this.print({ level: 'note', text: code === 0 ? 'Finished.' : `Ended with exit code ${code}.`, at: this.#moment });
      if (error && !this.output.value.some(({ text }) => text === error)) this.print({ level: 'error', text: error, at: this.#moment });
    });
    this.tables.touch();
  }

  #endRun(): void {
    const run = this.#run;
    this.#run = undefined;
    run?.stop();
    if (this.runState.value === 'running') this.runState.value = 'stopped';
  }

  /** Ends the code at once, whatever it does. */
  stopCode(): void {
    this.#halt = true;
    this.#endRun();
    this.print({ level: 'note', text: 'Stopped.', at: this.#moment });
    void this.act({ do: 'stop' });
  }

  print(line: Line): void {
    if (/Requested resource not found|non-existent table/.test(line.text)) this.missed.value = true;
    const lines = [...this.output.value, line];
    this.output.value = lines.length > MOST_LINES ? lines.slice(-MOST_LINES) : lines;
  }

  // ── Time ───────────────────────────────────────────────────────────────────────────────────────

  /** Moves the clock to a moment, from one thing that happens to the next. */
  async advanceTo(target: number): Promise<void> {
    await this.#move(() => this.#goTo(Math.round(target)));
  }

  /** Moves the clock on until the code has ended, at most by `limit` milliseconds. */
  async advanceToEnd(limit: number): Promise<void> {
    await this.#move(() => this.#goTo(this.#moment + limit, () => this.runState.value !== 'running'));
  }

  async #move(move: () => Promise<void>): Promise<void> {
    await this.#serially(async () => {
      this.#halt = false;
      this.moving.value = true;
      try {
        await move();
      } finally {
        this.moving.value = false;
      }
    });
    this.tables.touch();
    this.#keepSession();
  }

  async advance(milliseconds: number): Promise<void> {
    await this.#starting;
    await this.advanceTo(this.#moment + milliseconds);
  }

  async toNext(): Promise<void> {
    await this.#starting;
    const next = this.next.value;
    if (next !== undefined) await this.advanceTo(next);
  }

  /** Ends a long move of the clock where it is. */
  halt(): void {
    this.#halt = true;
    this.playing.value = false;
  }

  async #goTo(target: number, enough = () => false): Promise<void> {
    if (!this.settable.value) {
      this.#take(await this.control.advance(Math.max(0, target - this.#moment) / 1000));
      return;
    }
    await this.#settle();
    while (this.#moment < target && !this.#halt && !enough()) {
      const stops = [target, this.#timer, this.#due].filter((one): one is number => one !== undefined && one > this.#moment);
      this.#take(await this.control.setClock(Math.min(...stops)));
      await this.#settle();
      if (performance.now() - this.#published > TICK) this.#publish();
    }
    this.#publish();
  }

  /** Waits until the code waits for time. */
  async #settle(): Promise<void> {
    this.#timer = this.#run && this.settable.value ? await this.#run.tick(this.#moment) : undefined;
  }

  #take(clock: ClockState): void {
    this.#moment = clock.milliseconds;
    this.#due = clock.nextDue === undefined ? undefined : Math.ceil(Date.parse(clock.nextDue));
    this.settable.value = clock.settable;
    if (!clock.settable) this.#publish();
  }

  #publish(): void {
    this.#published = performance.now();
    batch(() => {
      this.now.value = this.#moment;
      this.nextDue.value = this.#due;
      this.nextTimer.value = this.#timer;
    });
  }

  // Lets time pass while it plays, and looks at what has happened.
  #follow(): void {
    const beat = async () => {
      const frame = performance.now();
      const passed = Math.min(250, frame - this.#lastFrame);
      this.#lastFrame = frame;
      try {
        if (!document.hidden) {
          if (this.playing.value && this.settable.value && !this.moving.value) {
            await this.advanceTo(this.#moment + Math.max(1, Math.round(passed * this.speed.value)));
          } else if (!this.settable.value) this.#take(await this.control.clock());
          if (await this.feed.refresh()) this.tables.touch();
          await this.tables.refresh();
        }
      } catch (error) {
        if (!this.isTab) this.failure.value = 'The server does not answer.';
        else throw error;
      }
      setTimeout(() => void beat(), this.isTab ? Math.max(8, TICK - (performance.now() - frame)) : 400);
    };
    this.#lastFrame = performance.now();
    void beat();
  }

  /** Reads what is true of the engine as a whole. */
  async #look(): Promise<void> {
    const [overview, faults] = await Promise.all([this.control.overview(), this.control.faults()]);
    this.#takeOverview(overview);
    this.faults.value = faults;
  }

  #takeOverview(overview: Overview): void {
    batch(() => {
      this.#take(overview.clock);
      this.#publish();
      this.controlled.value = overview.controlled;
      this.version.value = overview.version;
      this.conditions.value = overview.conditions;
      if (!this.isTab) this.seed.value = Number(overview.seed);
    });
  }

  // Several acts that belong together: what is clicked meanwhile comes after them.
  #wholly(work: () => Promise<void>): Promise<void> {
    const result = this.#starting.then(work);
    this.#starting = result.catch(() => {});
    return result;
  }

  // One after the other: time does not move while something is done.
  #serially<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => {});
    return result;
  }
}

/** Whose requests the page sends for the user, in a tab. */
export const USER_ACCOUNT: Account = { accessKey: 'playground', region: 'us-east-1' };

/** The server's address, of the path that this page lies at. */
export function serverBase(): string {
  return location.origin + location.pathname.replace(/\/_dynatwin\/ui\b.*$/, '');
}

/** An error in words. */
export function words(error: unknown): string {
  if (error instanceof ServiceError) return `${error.name}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

export { DAY };
