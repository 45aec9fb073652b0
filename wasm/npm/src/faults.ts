// The twin's fault rules.
import { iso } from './clock.js';
import type { Engine } from './engine.js';
import type { FaultReport, FaultRule, Faults, FaultScope, Outage } from './types.js';

export class TwinFaults implements Faults {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  add(rule: FaultRule): number {
    return this.#engine.addFault(timed(rule));
  }

  startOutage(outage: Outage, scope?: FaultScope): number[] {
    return Array.from(this.#engine.startOutage(timed({ ...scope, outage })));
  }

  remove(id: number): FaultReport | undefined {
    return this.#engine.removeFault(id);
  }

  clear(): void {
    this.#engine.clearFaults();
  }

  report(): FaultReport[] {
    return this.#engine.faults();
  }

  neverFired(): FaultReport[] {
    return this.#engine.idleFaults();
  }
}

// Converts a rule's moments to text.
function timed<Scope extends FaultScope>(rule: Scope): Scope {
  if (!(rule?.after instanceof Date || rule?.until instanceof Date)) return rule;
  return { ...rule, after: iso(rule.after), until: iso(rule.until) };
}
