// The twin's clock.
import type { Engine } from './engine.js';
import type { Clock } from './types.js';

/** Converts a moment to text. */
export const iso = <T>(moment: T | Date): T | string => (moment instanceof Date ? moment.toISOString() : moment);

export class TwinClock implements Clock {
  readonly #engine: Engine;
  #sleepers: (() => void)[] = [];
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
    for (const wake of this.#sleepers.splice(0)) wake();
  }

  // Sleeping advances a settable clock; on a running clock it takes real time.
  async sleep(milliseconds: number): Promise<void> {
    const end = this.#engine.now() + milliseconds;
    // The clock counts whole microseconds.
    for (let left = milliseconds; left >= 0.001; left = end - this.#engine.now()) {
      if (this.#engine.isFrozen()) {
        await new Promise<void>((resolve) => this.#sleepers.push(resolve));
      } else if (this.#engine.isSettable()) {
        this.#engine.sleep(left);
      } else {
        const real = left / this.#engine.speed();
        await new Promise((resolve) => setTimeout(resolve, real));
      }
    }
  }

  get settable(): boolean {
    return this.#engine.isSettable();
  }
}
