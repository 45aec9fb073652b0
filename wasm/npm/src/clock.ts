// The twin's clock.
import type { Engine } from './engine.js';
import type { Clock } from './types.js';

/** Converts a moment to text. */
export const iso = <T>(moment: T | Date): T | string => (moment instanceof Date ? moment.toISOString() : moment);

// A timer with a longer timeout fires at once.
const LONGEST_TIMEOUT = 2 ** 31 - 1;

export class TwinClock implements Clock {
  readonly #engine: Engine;
  readonly #sleepers = new Set<() => void>();
  polling: boolean;

  constructor(engine: Engine, polling: boolean) {
    this.#engine = engine;
    this.polling = polling;
  }

  now(): Date {
    return new Date(this.#engine.now());
  }

  advance(seconds: number): void {
    this.#engine.advance(seconds);
    this.wake();
  }

  set(moment: string | Date): void {
    this.#engine.set(iso(moment));
    this.wake();
  }

  freeze(): void {
    this.#engine.freeze();
  }

  unfreeze(): void {
    this.#engine.unfreeze();
    this.wake();
  }

  get frozen(): boolean {
    return this.#engine.isFrozen();
  }

  /** Lets sleepers look at the clock again, after it was advanced or unfrozen. */
  wake(): void {
    for (const wake of this.#sleepers) wake();
  }

  // Sleeping advances a settable clock; on a running clock it takes real time.
  async sleep(milliseconds: number): Promise<void> {
    const end = this.#engine.now() + milliseconds;
    // The clock counts whole microseconds.
    for (let left = milliseconds; left >= 0.001; left = end - this.#engine.now()) {
      if (this.#engine.isFrozen()) {
        await this.#woken();
      } else if (this.#engine.isSettable()) {
        this.#engine.sleep(left);
      } else {
        await this.#woken(left / this.#engine.speed());
      }
    }
  }

  // Resolves with the next `wake`, or after this real time in milliseconds.
  #woken(real?: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#sleepers.delete(wake);
        resolve();
      };
      const timer = real === undefined ? undefined : setTimeout(wake, Math.min(real, LONGEST_TIMEOUT));
      this.#sleepers.add(wake);
    });
  }

  get settable(): boolean {
    return this.#engine.isSettable();
  }
}
