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

// A strategy that decides as `strategy` does, and pauses by this clock. SDKs differ in who waits: the client, as long as the
// token says, or the strategy itself before it hands one out.
export function retryStrategy(clock, strategy) {
  if (strategy instanceof Paced) return new Paced(clock, strategy.strategy, strategy.backoff);
  if (typeof strategy.refreshRetryTokenForRetry !== 'function') return strategy;
  const standard = strategy.standardRetryStrategy ?? strategy;
  const own = standard.retryBackoffStrategy;
  // One for all who share the strategy.
  if (own !== undefined && !(own instanceof Backoff)) standard.retryBackoffStrategy = new Backoff(own);
  return new Paced(clock, strategy, standard.retryBackoffStrategy);
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
    const ask = () => this.strategy.refreshRetryTokenForRetry(token, error);
    const [next, left] = this.backoff ? await this.backoff.during(ask, this.clock.settable) : [await ask(), 0];
    const pause = left + next.getRetryDelay();
    next.getRetryDelay = () => 0;
    if (next.$retryLog) next.$retryLog.acquisitionDelay = pause;
    await this.clock.sleep(pause);
    return next;
  }

  recordSuccess(token) {
    this.strategy.recordSuccess(token);
  }
}

// In the place of a strategy's own backoff: while the strategy is asked for a token it has it wait for nothing, and tells the
// pause that is left to be made.
class Backoff {
  #turn = Promise.resolve();
  #asked;
  #base;

  constructor(own) {
    this.own = own;
  }

  // One question at a time: the pause that is computed belongs to the one who asks.
  during(ask, settable) {
    const answer = this.#turn.then(async () => {
      this.#asked = { settable, pause: 0 };
      try {
        return [await ask(), this.#asked.pause];
      } finally {
        this.#asked = undefined;
      }
    });
    this.#turn = answer.catch(() => {});
    return answer;
  }

  setDelayBase(base) {
    this.#base = base;
    this.own.setDelayBase?.(base);
  }

  computeNextBackoffDelay(attempt) {
    if (this.#asked === undefined) return this.own.computeNextBackoffDelay(attempt);
    this.#asked.pause = this.#isSteady() ? Math.min(LONGEST, this.#base * 2 ** attempt) : this.own.computeNextBackoffDelay(attempt);
    return 0;
  }

  // On a clock that stands still the SDK's default goes without jitter, so that the same seed gives the same times. A backoff
  // of somebody's own is as it is.
  #isSteady() {
    const isDefault = 'x' in this.own && !Object.hasOwn(this.own, 'computeNextBackoffDelay');
    return this.#asked.settable && this.#base !== undefined && isDefault;
  }
}
