// The twin's fault rules.
import { unlessAbsent } from './control.js';
import * as controls from './controls.js';
import type { FaultReport, FaultRule, Faults, FaultScope, Outage } from './types.js';

/** Calls a control of the twin. */
type Control = <Answer>(call: controls.Call<Answer>) => Answer;

export class TwinFaults implements Faults {
  readonly #control: Control;

  constructor(control: Control) {
    this.#control = control;
  }

  add(rule: FaultRule): number {
    return this.#control(controls.addFault(rule as controls.Rule)).id;
  }

  startOutage(outage: Outage, scope?: FaultScope): number[] {
    const started = this.#control(controls.startOutage({ ...scope, outage } as controls.Outage));
    return started.rules.map(({ id }) => id);
  }

  remove(id: number): FaultReport | undefined {
    return unlessAbsent(() => this.#control(controls.removeFault({ id })));
  }

  clear(): void {
    this.#control(controls.clearFaults());
  }

  report(): FaultReport[] {
    return this.#control(controls.listFaults()).rules;
  }

  neverFired(): FaultReport[] {
    return this.#control(controls.listFaults()).neverFired;
  }
}
