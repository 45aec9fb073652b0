// `npx dynatwin`: the native server if its package for this system is installed, otherwise the WebAssembly engine behind HTTP.
import { Dynatwin } from 'dynatwin';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire as requireFrom } from 'node:module';
import { constants } from 'node:os';
import { parse, type Flags } from './flags.js';
import { serve } from './server.js';

const require = requireFrom(import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const words = process.argv.slice(2);

// `DYNATWIN_ENGINE=wasm` skips the native server.
function nativeServer(): string | undefined {
  if (process.env.DYNATWIN_ENGINE === 'wasm') return undefined;
  const file = process.platform === 'win32' ? 'dynatwin.exe' : 'dynatwin';
  try {
    return require.resolve(`@dynatwin/${process.platform}-${process.arch}/${file}`);
  } catch {
    return undefined;
  }
}

function runNative(path: string): void {
  const child = spawn(path, words, { stdio: 'inherit' });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`${path}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 128 + constants.signals[signal] : 1)));
}

async function run({ port, host, log, options }: Flags): Promise<void> {
  options.seed ??= BigInt(crypto.getRandomValues(new BigUint64Array(1))[0]!);
  const twin = new Dynatwin(options);
  const server = await serve(twin, {
    port,
    host,
    onRequest({ method, path, operation, status, note }) {
      if (log === 'off' || (log === 'errors' && !note)) return;
      console.error(`${twin.clock.now().toISOString()} ${operation ?? `${method} ${path}`} ${status}${note ? `: ${note}` : ''}`);
    },
  });
  const stop = () => void server.close().then(() => process.exit(0));
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  console.log(`dynatwin ${version} (WebAssembly) listens on ${server.url}, seed ${twin.seed}`);
}

const native = nativeServer();
if (native !== undefined) {
  runNative(native);
} else {
  try {
    const invocation = parse(words, version);
    if ('print' in invocation) console.log(invocation.print);
    else await run(invocation.run);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 2;
  }
}
