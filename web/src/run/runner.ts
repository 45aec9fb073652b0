// Starts code in a Worker, passes time on to it, and terminates it if it stops answering.
import type { Transport } from '../transport/transport';
import workerUrl from './code-worker?worker&url';
import type { FromWorker, Level, ToWorker } from './protocol';

export interface Line {
  level: Level;
  text: string;
  /** When it was printed, by the emulator's clock. */
  at: number;
}

export interface Ending {
  code: number;
  error?: string;
  /** Whether it was stopped from outside. */
  stopped?: boolean;
}

export interface RunOptions {
  code: string;
  now: number;
  seed: number;
  env: Record<string, string>;
  /** Whether the code is known to end, as the page's examples are: it is not taken for an endless loop on a busy machine. */
  trusted: boolean;
  settable: boolean;
  base: string;
  onLine: (line: Line) => void;
  onMessage: (message: unknown) => void;
  onEnd: (ending: Ending) => void;
}

/** The interval at which the Worker must answer, in milliseconds of real time. */
const PULSE = 150;
/** How many pings may stay unanswered. Those sent late are not counted: the machine is busy. */
const PATIENCE = 6;
const LATE = 2 * PULSE;
const PATIENCE_WITH_TRUSTED = 20 * PATIENCE;

/** A Worker that was created before the first run, and whether its script has loaded. */
let spare: { worker: Worker; loaded: boolean } | undefined;

function make(): Worker {
  // A Worker created from a blob is subject to the page's Content-Security-Policy.
  const entry = new URL(workerUrl, location.href).href;
  const boot = URL.createObjectURL(new Blob([`import ${JSON.stringify(entry)};`], { type: 'text/javascript' }));
  return new Worker(boot, { type: 'module', name: 'code' });
}

/** Makes the first run's Worker, which loads the SDK while the engine is compiled. */
export function prepare(): void {
  const made = { worker: make(), loaded: false };
  made.worker.onmessage = () => (made.loaded = true);
  made.worker.postMessage({ kind: 'warm' } satisfies ToWorker);
  spare = made;
}

export class Run {
  #worker: Worker;
  #quiet = new Map<number, (next: number | undefined) => void>();
  #last = 0;
  #unanswered = 0;
  #pinged = 0;
  #watch: ReturnType<typeof setInterval> | undefined;
  #ended = false;
  readonly #options: RunOptions;

  constructor(transport: Transport, options: RunOptions) {
    this.#options = options;
    const ready = spare;
    spare = undefined;
    this.#worker = ready?.worker ?? make();
    if (ready?.loaded) this.#receive({ kind: 'loaded' });
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#receive(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#end({ code: 1, error: event.message || 'The code could not be loaded.' });
    };
    const port = transport.connect();
    const { code, now, seed, env, settable, base } = options;
    this.#send({ kind: 'start', code, now, seed, env, settable, base, port }, port ? [port] : []);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Lets it be a moment, and waits until nothing moves; resolves to when its next timer is due. */
  tick(now: number): Promise<number | undefined> {
    if (this.#ended) return Promise.resolve(undefined);
    const id = (this.#last += 1);
    return new Promise((resolve) => {
      this.#quiet.set(id, resolve);
      this.#send({ kind: 'tick', id, now });
    });
  }

  stop(reason?: string): void {
    if (reason) this.#options.onLine({ level: 'note', text: reason, at: this.#options.now });
    this.#end({ code: 1, stopped: true });
  }

  #send(message: ToWorker, transfer: Transferable[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #receive(message: FromWorker): void {
    if (this.#ended) return;
    this.#unanswered = 0;
    switch (message.kind) {
      case 'loaded':
        this.#watch = setInterval(() => this.#check(), PULSE);
        break;
      case 'print':
        this.#options.onLine(message);
        break;
      case 'quiet':
        this.#quiet.get(message.id)?.(message.next);
        this.#quiet.delete(message.id);
        break;
      case 'message':
        this.#options.onMessage(message.message);
        break;
      case 'end':
        this.#end({ code: message.code, ...(message.error ? { error: message.error } : {}) });
        break;
      case 'pong':
        break;
    }
  }

  #check(): void {
    const now = performance.now();
    if (now - this.#pinged < LATE) this.#unanswered += 1;
    this.#pinged = now;
    if (this.#unanswered > (this.#options.trusted ? PATIENCE_WITH_TRUSTED : PATIENCE)) {
      this.stop('Stopped: the code kept its thread busy for a second without waiting for anything. Is there an endless loop?');
    } else {
      this.#send({ kind: 'ping' });
    }
  }

  #end(ending: Ending): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#watch);
    this.#worker.terminate();
    for (const resolve of this.#quiet.values()) resolve(undefined);
    this.#quiet.clear();
    this.#options.onEnd(ending);
  }
}
