// The emulator's clock: what the views show of it, and its moves from one event to the next.
import { batch, computed, signal } from '@preact/signals';
import { START } from './session';
import type { ClockState, Control } from './transport/control';

/** The interval at which the views are refreshed while time moves, in milliseconds of real time. */
export const TICK = 50;
/** The interval during a move that the user has asked for, which rendering would slow down. */
export const FAST_TICK = 500;
export const DAY = 86_400_000;

/** What the clock moves for. */
export interface Host {
  readonly control: Control;
  /** Settled once the page has started, and whatever was begun as a whole is done. */
  ready(): Promise<void>;
  /** Runs after the actions that were begun before, and before those that are begun later. */
  serially<T>(work: () => Promise<T>): Promise<T>;
  /** Lets code that waits continue at a moment; returns when it wants to continue next. */
  tick(moment: number): Promise<number | undefined>;
  /** Called after each move. */
  moved(): void;
}

interface Move {
  /** Whether the clock has come far enough. */
  enough?: () => boolean;
  /** How often moves had been ended when it was asked for. */
  asked?: number;
  /** Whether the user has asked for it. */
  shown?: boolean;
}

export class Timeline {
  readonly now = signal(START);
  readonly settable = signal(true);
  readonly playing = signal(false);
  readonly speed = signal(1);
  readonly moving = signal(false);
  /** Where a move ends that the user has asked for, if it takes long enough to be seen. */
  readonly target = signal<number | undefined>(undefined);
  readonly nextDue = signal<number | undefined>(undefined);
  readonly nextTimer = signal<number | undefined>(undefined);
  readonly next = computed(() => {
    const times = [this.nextDue.value, this.nextTimer.value].filter((one): one is number => one !== undefined && one > this.now.value);
    return times.length ? Math.min(...times) : undefined;
  });

  // The current clock; the signals follow it a few times a second while it moves.
  #moment = START;
  #due: number | undefined;
  #timer: number | undefined;
  #published = 0;
  /** How often moves were ended: those that were asked for before end too, though they have not begun. */
  #halts = 0;

  constructor(readonly host: Host) {}

  /** The emulator's time, which `now` follows. */
  get moment(): number {
    return this.#moment;
  }

  /** Moves the clock to a moment, from one thing that happens to the next. */
  async advanceTo(target: number): Promise<void> {
    await this.#move(() => target);
  }

  /** Moves the clock on by at most `limit` milliseconds, until it is enough. */
  async advanceUntil(enough: () => boolean, limit: number): Promise<void> {
    await this.#move(() => this.#moment + limit, { enough });
  }

  /** Moves the clock on for the user, who may end the move. It stops only where the code continues. */
  async advance(milliseconds: number): Promise<void> {
    const asked = this.#halts;
    await this.host.ready();
    await this.#move(() => this.#moment + milliseconds, { asked, shown: true });
  }

  async toNext(): Promise<void> {
    const asked = this.#halts;
    await this.host.ready();
    const next = this.next.value;
    if (next !== undefined) await this.#move(() => next, { asked, shown: true });
  }

  /** Ends all moves of the clock where it is. */
  halt(): void {
    this.interrupt();
    this.playing.value = false;
  }

  /** Ends all moves of the clock that were asked for; while time plays, others follow. */
  interrupt(): void {
    this.#halts += 1;
  }

  async #move(target: () => number, { enough = () => false, asked = this.#halts, shown = false }: Move = {}): Promise<void> {
    await this.host.serially(async () => {
      const over = () => asked !== this.#halts || enough();
      if (over()) return;
      this.moving.value = true;
      try {
        await this.#goTo(Math.round(target()), over, shown);
      } finally {
        this.moving.value = false;
        this.target.value = undefined;
      }
    });
    this.host.moved();
  }

  async #goTo(target: number, over: () => boolean, shown: boolean): Promise<void> {
    if (!this.settable.value) {
      this.take(await this.host.control.advance(Math.max(0, target - this.#moment) / 1000));
      return;
    }
    const began = performance.now();
    await this.settle();
    while (this.#moment < target && !over()) {
      const stops = [target, this.#timer, shown ? undefined : this.#due].filter((one): one is number => one !== undefined && one > this.#moment);
      this.take(await this.host.control.setClock(Math.min(...stops)));
      await this.settle();
      const passed = performance.now();
      if (shown && passed - began > TICK) this.target.value = target;
      if (passed - this.#published > (shown ? 4 * TICK : TICK)) this.publish();
    }
    this.publish();
  }

  /** Waits until the code waits for time. */
  async settle(): Promise<void> {
    this.#timer = this.settable.value ? await this.host.tick(this.#moment) : undefined;
  }

  /** No code waits any longer. */
  forgetTimer(): void {
    this.#timer = undefined;
  }

  take(clock: ClockState): void {
    this.#moment = clock.milliseconds;
    this.#due = clock.nextDue === undefined ? undefined : Math.ceil(Date.parse(clock.nextDue));
    this.settable.value = clock.settable;
    if (!clock.settable) this.publish();
  }

  publish(): void {
    this.#published = performance.now();
    batch(() => {
      this.now.value = this.#moment;
      this.nextDue.value = this.#due;
      this.nextTimer.value = this.#timer;
    });
  }
}
