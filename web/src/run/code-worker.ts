// Runs code in a separate Worker, which the page can terminate at any time.
import { EmulatorClock } from './clock';
import { Connection, overFetch, overPort } from './handler';
import { format, inspect } from './inspect';
import { Modules, preload } from './modules';
import type { FromWorker, Level, StartMessage, ToWorker } from './protocol';
import { install } from './random';
import type { WorkerScope } from '../worker-scope';

const scope = self as unknown as WorkerScope & Record<string, unknown>;
const realFetch = fetch.bind(globalThis);
const clock = new EmulatorClock();
let ended = false;
let evaluated = false;
/** The address of the code's module. */
let address = '';

const post = (message: FromWorker) => scope.postMessage(message);
const print = (level: Level, text: string) => post({ kind: 'print', level, text, at: clock.now });

class Exit {
  constructor(readonly code: number) {}
}

function end(code: number, error?: string): void {
  if (ended) return;
  ended = true;
  post({ kind: 'end', code, error });
}

function failed(error: unknown): void {
  if (error instanceof Exit) return end(error.code);
  const line = lineOf(error);
  const words = (error instanceof Error ? inspect(error) : `Uncaught ${inspect(error)}`) + (line ? `\n    at line ${line}` : '');
  print('error', words);
  end(1, words);
}

/** The line of the code that an error comes from: of its stack or, for a syntax error, which has none, of the event that reports it. */
function lineOf(error: unknown): number | undefined {
  if (!address) return undefined;
  const [, frame = ''] = (error instanceof Error && error.stack?.split(`${address}:`)) || [];
  const line = Number.parseInt(frame, 10);
  return line > 0 ? line : reportedLine(error);
}

let place: { line?: number } | undefined;

function reportedLine(error: unknown): number | undefined {
  const found: { line?: number } = {};
  place = found;
  reportError(error); // calls the listener at once
  place = undefined;
  return found.line;
}

// Code that has ended, or waits for time to pass.
async function report(id: number, now: number): Promise<void> {
  try {
    const next = await clock.tick(now);
    if (evaluated && clock.waiting === 0) end(0);
    post({ kind: 'quiet', id, next });
  } catch (error) {
    failed(error);
    post({ kind: 'quiet', id, next: undefined });
  }
}

scope.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === 'ping') post({ kind: 'pong' });
  else if (data.kind === 'warm') preload();
  else if (data.kind === 'tick') void report(data.id, data.now);
  else void start(data);
};

async function start(message: StartMessage): Promise<void> {
  clock.begin(message.now, message.settable);
  const send = message.port ? overPort(message.port) : overFetch(message.base, realFetch);
  const connection = new Connection(clock, send);
  const process = processOf(message.env);
  try {
    install(scope, message.seed);
    const modules = new Modules(connection, message.env, process);
    const linked = await clock.during(modules.link(message.code));
    prepare(connection, process);
    const begun = new Promise<void>((resolve) => (scope['__dynatwinBegun'] = resolve));
    const source = `globalThis.__dynatwinBegun(); ${linked}`;
    address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    const evaluation = import(/* @vite-ignore */ address);
    // The code's own awaits may last for any time of the emulator's clock.
    await clock.during(Promise.race([begun, evaluation]));
    await evaluation;
    evaluated = true;
    if (!message.settable) watchEnd();
  } catch (error) {
    failed(error);
  }
}

// On a running clock nothing waits for the code to be idle.
function watchEnd(): void {
  void clock.settle().then(() => {
    if (clock.waiting === 0) end(0);
    else if (!ended) setTimeout(watchEnd, 50);
  });
}

// The globals of the code's Worker: the emulator's time, randomness and network, and Node's `process`.
function prepare(connection: Connection, process: object): void {
  clock.install(scope);
  for (const name of ['WebSocket', 'EventSource', 'XMLHttpRequest', 'WebTransport', 'importScripts', 'indexedDB', 'caches']) {
    Object.defineProperty(scope, name, { configurable: true, writable: true, value: undefined });
  }
  Object.assign(scope, { fetch: connection.fetch.bind(connection), process, global: scope });
  const log = (level: Level) => (...parts: unknown[]) => print(level, format(parts));
  const timers = new Map<string, number>();
  Object.assign(console, {
    log: log('log'),
    info: log('log'),
    debug: log('log'),
    warn: log('warn'),
    error: log('error'),
    trace: log('error'),
    dir: (value: unknown) => print('log', inspect(value)),
    table: (rows: unknown) => print('log', table(rows)),
    assert: (value: unknown, ...parts: unknown[]) => value || print('error', format(['Assertion failed:', ...parts])),
    time: (name = 'default') => timers.set(name, clock.now),
    timeEnd: (name = 'default') => print('log', `${name}: ${clock.now - (timers.get(name) ?? clock.now)} ms`),
    group: log('log'),
    groupEnd: () => {},
  });
  scope.addEventListener('unhandledrejection', (event) => {
    event.preventDefault();
    failed(event.reason);
  });
  scope.addEventListener('error', (event) => {
    event.preventDefault();
    if (!place) failed(event.error ?? event.message);
    else if (event.filename === address) place.line = event.lineno;
  });
}

function processOf(env: Record<string, string>) {
  const write = (level: Level) => ({ write: (text: string) => (print(level, String(text).replace(/\n$/, '')), true), isTTY: false });
  return {
    env,
    argv: ['node', 'app.mjs'],
    pid: 4242,
    platform: 'browser',
    version: 'v22.0.0',
    versions: { node: '22.0.0' },
    exitCode: undefined as number | undefined,
    stdout: write('log'),
    stderr: write('error'),
    send: (message: unknown) => (post({ kind: 'message', message }), true),
    exit(code = 0) {
      end(code);
      throw new Exit(code);
    },
    on() {
      return this;
    },
    once() {
      return this;
    },
    cwd: () => '/',
    uptime: () => clock.elapsed / 1000,
    memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0 }),
    nextTick: (work: (...parts: unknown[]) => void, ...parts: unknown[]) => queueMicrotask(() => work(...parts)),
    hrtime: Object.assign(() => [Math.floor(clock.elapsed / 1000), (clock.elapsed % 1000) * 1e6], {
      bigint: () => BigInt(Math.round(clock.elapsed * 1e6)),
    }),
  };
}

function table(rows: unknown): string {
  if (typeof rows !== 'object' || rows === null) return inspect(rows);
  const entries = Object.entries(rows as Record<string, unknown>);
  const names = [...new Set(entries.flatMap(([, row]) => (typeof row === 'object' && row !== null ? Object.keys(row) : ['value'])))];
  const cells = [['', ...names]];
  for (const [index, row] of entries) {
    const value = (name: string) => (typeof row === 'object' && row !== null ? (row as Record<string, unknown>)[name] : row);
    cells.push([index, ...names.map((name) => (value(name) === undefined ? '' : inspect(value(name), 0)))]);
  }
  const widths = cells[0]?.map((_, at) => Math.max(...cells.map((line) => line[at]?.length ?? 0))) ?? [];
  return cells.map((line) => line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')).join('\n');
}

post({ kind: 'loaded' });
