// Makes an AWS SDK client's backoff use the twin's clock. The SDK still decides whether to retry.
import type { Clock, Pauses, RetryStrategy } from './types.js';

const LONGEST = 20_000;

/** The computation of a pause in the SDK's standard strategy. */
interface RetryBackoff {
  computeNextBackoffDelay(attempt: number): number;
  setDelayBase?(base: number): void;
}

/** The SDK's strategies: the adaptive one contains a standard one. */
type SdkStrategy = RetryStrategy & {
  mode?: string;
  standardRetryStrategy?: SdkStrategy;
  retryBackoffStrategy?: RetryBackoff;
};

/**
 * Returns an extension for a client's `extensions`: the strategy of its settings, or the SDK's default, then pauses on
 * this clock.
 */
export function pauses(clock: Clock): Pauses {
  return {
    configure(client) {
      const strategy = client.retryStrategy();
      let paced: Promise<RetryStrategy>;
      client.setRetryStrategy(() => (paced ??= Promise.resolve(strategy()).then((found) => retryStrategy(clock, found))));
    },
  };
}

/**
 * Returns a strategy that decides like `strategy` and pauses on this clock. In some versions of the SDK the client
 * waits as long as the token defines; in others the strategy itself waits before it returns a token.
 */
export function retryStrategy(clock: Clock, strategy: SdkStrategy): RetryStrategy {
  if (strategy instanceof Paced) return new Paced(clock, strategy.strategy, strategy.backoff);
  if (typeof strategy.refreshRetryTokenForRetry !== 'function') return strategy;
  const standard = strategy.standardRetryStrategy ?? strategy;
  const own = standard.retryBackoffStrategy;
  if (own === undefined) return new Paced(clock, strategy, undefined);
  // Shared by all clients with this strategy.
  const backoff = own instanceof Backoff ? own : new Backoff(own);
  standard.retryBackoffStrategy = backoff;
  return new Paced(clock, strategy, backoff);
}

class Paced implements RetryStrategy {
  readonly mode: string | undefined;

  constructor(
    readonly clock: Clock,
    readonly strategy: SdkStrategy,
    readonly backoff: Backoff | undefined,
  ) {
    this.mode = strategy.mode;
  }

  acquireInitialRetryToken(scope: string) {
    return this.strategy.acquireInitialRetryToken(scope);
  }

  async refreshRetryTokenForRetry(token: any, error: any) {
    const ask = () => this.strategy.refreshRetryTokenForRetry(token, error);
    const [next, left] = this.backoff ? await this.backoff.during(ask, this.clock.settable) : [await ask(), 0];
    const pause = left + next.getRetryDelay();
    next.getRetryDelay = () => 0;
    if (next.$retryLog) next.$retryLog.acquisitionDelay = pause;
    await this.clock.sleep(pause);
    return next;
  }

  recordSuccess(token: any) {
    this.strategy.recordSuccess(token);
  }
}

// Replaces a strategy's own backoff: while the strategy computes a token, it does not wait, and the remaining pause is
// returned instead.
class Backoff implements RetryBackoff {
  #turn: Promise<unknown> = Promise.resolve();
  #current: { settable: boolean; pause: number } | undefined;
  #base: number | undefined;

  constructor(readonly own: RetryBackoff) {}

  // Computes one token at a time, so that the computed pause belongs to it.
  during(compute: () => Promise<any>, settable: boolean): Promise<[any, number]> {
    const answer = this.#turn.then(async (): Promise<[any, number]> => {
      const current = { settable, pause: 0 };
      this.#current = current;
      try {
        return [await compute(), current.pause];
      } finally {
        this.#current = undefined;
      }
    });
    this.#turn = answer.catch(() => {});
    return answer;
  }

  setDelayBase(base: number) {
    this.#base = base;
    this.own.setDelayBase?.(base);
  }

  computeNextBackoffDelay(attempt: number): number {
    const current = this.#current;
    if (current === undefined) return this.own.computeNextBackoffDelay(attempt);
    // On a clock that stands still the SDK's default has no jitter, so that the same seed gives the same times. A
    // custom backoff is not changed.
    const isDefault = 'x' in this.own && !Object.hasOwn(this.own, 'computeNextBackoffDelay');
    const isSteady = current.settable && isDefault && this.#base !== undefined;
    current.pause = isSteady ? Math.min(LONGEST, this.#base! * 2 ** attempt) : this.own.computeNextBackoffDelay(attempt);
    return 0;
  }
}
