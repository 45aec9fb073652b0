// The run of the code in the editor: its state, and what it has printed.
import { batch, signal } from '@preact/signals';
import type { Account } from '../transport/dynamodb';
import type { Transport } from '../transport/transport';
import { Run, type Ending, type Line } from './runner';

export type RunState = 'idle' | 'running' | 'ended' | 'failed' | 'stopped';

const MOST_LINES = 2_000;
/** The shortest interval between changes of the output, in milliseconds of real time: each renders the list of lines. */
const INTERVAL = 200;
const MODULE = 'The code is an ES module. Instead of require, write for example: import { DynamoDBClient } from "@aws-sdk/client-dynamodb";';

export interface Start {
  code: string;
  seed: number;
  trusted: boolean;
  settable: boolean;
  base: string;
  account: Account;
}

export class CodeRun {
  readonly output = signal<Line[]>([]);
  readonly state = signal<RunState>('idle');
  /** Whether the code printed that a table is not there. */
  readonly missed = signal(false);

  /** Called with what code passes to `process.send`, as lessons do with their outcome. */
  onResult: ((verdict: unknown) => void) | undefined;

  #run: Run | undefined;
  /** Lines that are not in `output` yet. */
  #unshown: Line[] = [];
  /** When `output` last changed, by `performance.now()`. */
  #shown = -INTERVAL;
  #showing: ReturnType<typeof setTimeout> | undefined;

  /** `moment` is the emulator's time; `ended` is called when code has ended by itself. */
  constructor(readonly transport: Transport, readonly moment: () => number, readonly ended: () => void) {}

  start({ account, ...options }: Start): void {
    batch(() => {
      this.state.value = 'running';
      this.missed.value = false;
    });
    const run: Run = new Run(this.transport, {
      ...options,
      now: this.moment(),
      env: {
        AWS_REGION: account.region,
        AWS_DEFAULT_REGION: account.region,
        AWS_ACCESS_KEY_ID: account.accessKey,
        AWS_SECRET_ACCESS_KEY: 'not-checked',
      },
      onLine: (line) => this.print(line),
      onMessage: (message) => this.onResult?.(message),
      onEnd: (ending) => run === this.#run && this.#end(ending),
    });
    this.#run = run;
  }

  #end({ code, error, stopped }: Ending): void {
    batch(() => {
      this.state.value = stopped ? 'stopped' : code === 0 ? 'ended' : 'failed';
      if (!stopped && !error) this.note(code === 0 ? 'Finished.' : `Ended with exit code ${code}.`);
      this.#show();
      if (error && !this.output.value.some(({ text }) => text === error)) this.print({ level: 'error', text: error, at: this.moment() });
      if (error?.includes('require is not defined')) this.note(MODULE);
      this.#show();
    });
    this.ended();
  }

  /** Ends the code at once, whatever it does. */
  stop(): void {
    const run = this.#run;
    this.#run = undefined;
    run?.stop();
    if (this.state.value === 'running') this.state.value = 'stopped';
  }

  /** Forgets what was printed. */
  clearOutput(): void {
    this.#unshown = [];
    this.output.value = [];
  }

  /** Forgets what was run and printed. */
  clear(): void {
    batch(() => {
      this.clearOutput();
      this.state.value = 'idle';
      this.missed.value = false;
    });
  }

  /** Lets the code continue at a moment; returns when it wants to continue next. */
  async tick(moment: number): Promise<number | undefined> {
    return this.#run?.tick(moment);
  }

  /** Prints a line of the page's own. */
  note(text: string): void {
    this.print({ level: 'note', text, at: this.moment() });
  }

  print(line: Line): void {
    if (/Requested resource not found|non-existent table/.test(line.text)) this.missed.value = true;
    this.#unshown.push(line);
    this.#showing ??= setTimeout(() => this.#show(), Math.max(0, this.#shown + INTERVAL - performance.now()));
  }

  #show(): void {
    clearTimeout(this.#showing);
    this.#showing = undefined;
    this.#shown = performance.now();
    this.output.value = [...this.output.value, ...this.#unshown.splice(0)].slice(-MOST_LINES);
  }
}
