// A Dynatwin server with the console, on a free port.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const BINARY = process.env.DYNATWIN_BIN ?? fileURLToPath(new URL('../../target/debug/dynatwin', import.meta.url));

/** Starts a server with a settable clock. */
export async function start(...flags) {
  const server = spawn(BINARY, ['--port', '0', '--clock', 'settable', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  const address = await new Promise((resolve, reject) => {
    const read = (data) => {
      const found = /http:\/\/[\w.:[\]]+/.exec(String(data));
      if (found) resolve(found[0].replace('localhost', '127.0.0.1'));
    };
    server.stdout.on('data', read);
    server.stderr.on('data', read);
    server.on('exit', (code) => reject(new Error(`The server ended with ${code}.`)));
  });
  const ended = new Promise((resolve) => server.on('exit', resolve));
  return { address, stop: () => (server.kill(), ended) };
}
