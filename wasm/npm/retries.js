// Lets the pauses between an AWS SDK client's attempts pass by the twin's clock. Whether to try again stays the SDK's decision.

const LONGEST = 20_000;

// A client's `extensions`: whatever strategy it has come to, by its settings or the SDK's defaults, pauses by this clock.
export function pauses(clock) {
  return {
    configure(client) {
      const strategy = client.retryStrategy();
      let paced;
      client.setRetryStrategy(() => (paced ??= Promise.resolve(strategy()).then((found) => retryStrategy(clock, found))));
    },
  };
}

// A strategy that decides as `strategy` does, and pauses by this clock. SDKs differ in who waits: a token that says for how
// long, or the strategy itself before it hands one out.
export function retryStrategy(clock, strategy) {
  if (typeof strategy.refreshRetryTokenForRetry !== 'function') return strategy;
  const standard = strategy.standardRetryStrategy ?? strategy;
  if (standard.retryBackoffStrategy === undefined) return new Paced(clock, strategy, undefined);
  const backoff = new Backoff(clock, standard.retryBackoffStrategy);
  standard.retryBackoffStrategy = backoff;
  return new Paced(clock, strategy, backoff);
}

class Paced {
  constructor(clock, strategy, backoff) {
    this.clock = clock;
    this.strategy = strategy;
    this.backoff = backoff;
    this.mode = strategy.mode;
  }

  acquireInitialRetryToken(scope) {
    return this.strategy.acquireInitialRetryToken(scope);
  }

  async refreshRetryTokenForRetry(token, error) {
    const [next, waits] = await this.#ask(token, error);
    const pause = waits + next.getRetryDelay();
    next.getRetryDelay = () => 0;
    if (next.$retryLog) next.$retryLog.acquisitionDelay = pause;
    await this.clock.sleep(pause);
    return next;
  }

  // One question at a time: the pause that the strategy computes belongs to the one who asks.
  #ask(token, error) {
    const asked = (this.asking ?? Promise.resolve()).then(async () => {
      const next = await this.strategy.refreshRetryTokenForRetry(token, error);
      return [next, this.backoff?.taken() ?? 0];
    });
    this.asking = asked.catch(() => this.backoff?.taken());
    return asked;
  }

  recordSuccess(token) {
    this.strategy.recordSuccess(token);
  }
}

// In the place of a strategy's own backoff: notes the pause, and has the strategy wait for nothing.
class Backoff {
  #pause = 0;
  #base;

  constructor(clock, own) {
    this.clock = clock;
    this.own = own;
  }

  setDelayBase(base) {
    this.#base = base;
    this.own.setDelayBase(base);
  }

  computeNextBackoffDelay(attempt) {
    this.#pause = this.#steady() ? Math.min(LONGEST, this.#base * 2 ** attempt) : this.own.computeNextBackoffDelay(attempt);
    return 0;
  }

  taken() {
    const pause = this.#pause;
    this.#pause = 0;
    return pause;
  }

  // On a clock that stands still the SDK's default goes without jitter, so that the same seed gives the same times. A backoff
  // of somebody's own is as it is.
  #steady() {
    return this.clock.settable && this.#base !== undefined && 'x' in this.own && !Object.hasOwn(this.own, 'computeNextBackoffDelay');
  }
}
