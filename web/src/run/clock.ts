// Time inside the code's Worker: Date and timers by the emulator's clock.
//
// The clock moves only when the page advances it, and only when the code waits: when no request is in progress and
// everything that can run has run. A program therefore has the same run on any machine.

const RealDate = Date;
const realSetTimeout = globalThis.setTimeout.bind(globalThis);
const realClearTimeout = globalThis.clearTimeout.bind(globalThis);

interface Timer {
  id: number;
  due: number;
  run: () => void;
  every: number | undefined;
}

/** How many timers may fire without time passing. */
const LIMIT = 100_000;

export class EmulatorClock {
  /** Milliseconds since 1970. */
  #now = RealDate.now();
  #start = 0;
  #timers = new Map<number, Timer>();
  #last = 0;
  #pending = 0;
  /** Called once no work is under way. */
  #idle: (() => void)[] = [];
  #fired = 0;
  #settable = true;
  #ahead = 0;

  /** Begins at a moment. On a clock that runs by itself, timers are the machine's. */
  begin(now: number, settable: boolean): void {
    this.#now = now;
    this.#start = now;
    this.#settable = settable;
    this.#ahead = now - RealDate.now();
  }

  get now(): number {
    return this.#settable ? this.#now : RealDate.now() + this.#ahead;
  }

  get elapsed(): number {
    return this.now - this.#start;
  }

  get waiting(): number {
    return this.#timers.size + this.#pending;
  }

  /** Counts work that is under way outside of this Worker, such as a request. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#pending += 1;
    try {
      return await work;
    } finally {
      this.#pending -= 1;
      if (this.#pending === 0) for (const resume of this.#idle.splice(0)) resume();
    }
  }

  set(run: () => void, delay: number, every?: number): number {
    const length = Number.isFinite(delay) && delay >= 1 ? Math.trunc(delay) : 0;
    const timer: Timer = { id: (this.#last += 1), due: this.now + length, run, every };
    this.#timers.set(timer.id, timer);
    if (!this.#settable) {
      const fire = () => this.#timers.has(timer.id) && this.#fire(timer);
      const real = realSetTimeout(fire, length);
      timer.run = run;
      this.#real.set(timer.id, real);
    }
    return timer.id;
  }

  #real = new Map<number, ReturnType<typeof setTimeout>>();

  clear(id: unknown): void {
    const number = typeof id === 'object' && id !== null ? Number(id) : (id as number);
    const real = this.#real.get(number);
    if (real !== undefined) realClearTimeout(real);
    this.#real.delete(number);
    this.#timers.delete(number);
  }

  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.set(resolve, milliseconds));
  }

  #fire(timer: Timer): void {
    if (timer.every === undefined) this.#timers.delete(timer.id);
    else {
      timer.due += Math.max(1, Math.trunc(timer.every));
      if (!this.#settable) this.#real.set(timer.id, realSetTimeout(() => this.#timers.has(timer.id) && this.#fire(timer), timer.every));
    }
    timer.run();
  }

  #next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers.values()) if (!first || timer.due < first.due) first = timer;
    return first;
  }

  /** Goes to a moment and runs all that can run by then; resolves to the moment of the next timer. */
  async tick(now: number): Promise<number | undefined> {
    if (now > this.#now) {
      this.#now = now;
      this.#fired = 0;
    }
    for (;;) {
      await this.settle();
      const next = this.#next();
      if (!this.#settable || !next || next.due > this.#now) return next?.due;
      this.#fired += 1;
      if (this.#fired > LIMIT) throw new Error(`${LIMIT.toLocaleString('en')} timers fired without time passing.`);
      this.#fire(next);
    }
  }

  /** Waits until no request is under way and nothing can run. */
  async settle(): Promise<void> {
    do {
      if (this.#pending > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
      await macrotask();
      await macrotask();
    } while (this.#pending > 0);
  }

  /** Puts this clock in the place of the Worker's own. */
  install(scope: Record<string, unknown>): void {
    const clock = this;
    class EmulatorDate extends RealDate {
      constructor(...parts: unknown[]) {
        if (parts.length === 0) super(Math.floor(clock.now));
        else super(...(parts as [number]));
      }

      static override now(): number {
        return Math.floor(clock.now);
      }
    }
    const callable = new Proxy(EmulatorDate, { apply: () => new EmulatorDate().toString() });
    const start = (every: boolean) => (work: unknown, delay: unknown = 0, ...parts: unknown[]) => {
      const run = typeof work === 'function' ? () => void (work as (...parts: unknown[]) => void)(...parts) : () => {};
      return handle(clock, clock.set(run, Number(delay), every ? Number(delay) : undefined));
    };
    const clear = (id: unknown) => clock.clear(id);
    Object.assign(scope, {
      Date: callable,
      setTimeout: start(false),
      setInterval: start(true),
      setImmediate: (work: unknown, ...parts: unknown[]) => start(false)(work, 0, ...parts),
      requestAnimationFrame: (work: (now: number) => void) => clock.set(() => work(clock.elapsed), 16),
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: clear,
      cancelAnimationFrame: clear,
    });
    Object.defineProperty(performance, 'now', { value: () => clock.elapsed });
    AbortSignal.timeout = (milliseconds: number) => {
      const controller = new AbortController();
      clock.set(() => controller.abort(new DOMException('The operation timed out.', 'TimeoutError')), milliseconds);
      return controller.signal;
    };
  }
}

// A timer as Node has it: a number that can be unref'ed.
function handle(clock: EmulatorClock, id: number) {
  const timer = { ref: () => timer, unref: () => timer, hasRef: () => true, refresh: () => timer, close: () => clock.clear(id), [Symbol.toPrimitive]: () => id };
  return timer;
}

const channel = new MessageChannel();
const turns: (() => void)[] = [];
channel.port1.onmessage = () => turns.shift()?.();

function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    turns.push(resolve);
    channel.port2.postMessage(undefined);
  });
}
