// `dynatwin/server`: a twin behind HTTP, for clients that need an address.
import type { Answer, Dynatwin } from 'dynatwin';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dispose } from './dispose.js';

const LARGEST_BODY = 48 << 20;
// The interval in milliseconds at which a held answer checks whether the clock is frozen.
const NAP = 100;

export interface ServerOptions {
  /** The port; 0, the default, selects a free one. */
  port?: number;
  /** The address to listen on; 127.0.0.1 by default. */
  host?: string;
  /** Called for each request when it is answered. */
  onRequest?: (request: { method: string; path: string; operation?: string; status: number; note?: string }) => void;
}

/** A running server, from `serve`. */
export interface TwinServer {
  readonly port: number;
  /** The server's URL, such as `http://127.0.0.1:8000`: the `endpoint` of an SDK client. */
  readonly url: string;
  /** Stops listening and closes all connections. */
  close(): Promise<void>;
  [Symbol.dispose](): void;
}

/**
 * Serves HTTP requests on a port until it is closed. Requests of web pages are refused; the native server has settings
 * to allow them.
 */
export async function serve(twin: Dynatwin, { port = 0, host = '127.0.0.1', onRequest }: ServerOptions = {}): Promise<TwinServer> {
  const delays = new Delays(twin);
  const server = createServer((request, response) => {
    answer(twin, delays, request, response, host, onRequest).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  // Applies due work of a running clock without requests, and notices when the program has advanced a settable one.
  const timer = setInterval(() => {
    twin.runDue();
    delays.release();
  }, 1000);
  timer.unref();
  const stop = () => {
    clearInterval(timer);
    server.closeAllConnections();
  };
  return {
    port: (server.address() as AddressInfo).port,
    url: urlOf(server),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      stop();
      await closed;
    },
    [dispose]() {
      server.close();
      stop();
    },
  } as TwinServer;
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

async function answer(
  twin: Dynatwin,
  delays: Delays,
  request: IncomingMessage,
  response: ServerResponse,
  host: string,
  onRequest: ServerOptions['onRequest'],
): Promise<void> {
  const { method = 'GET', url: path = '/', headers } = request;
  const body = await bodyOf(request);
  if (body === undefined) return refuse(response, 413, 'The body is larger than 48 MiB.');
  if (isOfPage(request, host)) return refuse(response, 403, 'Web pages are not answered.');
  const given = withDescription(path, twin.handle(method, path, headers, body));
  const operation = /\.(\w+)$/.exec(String(headers['x-amz-target'] ?? ''))?.[1];
  onRequest?.({ method, path, status: given.status, ...(operation && { operation }), ...(given.note && { note: given.note }) });
  delays.release();
  await delays.pass(given);
  if (given.delivery.kind === 'lost') return;
  if (given.delivery.kind === 'reset') return void request.socket.resetAndDestroy();
  response.writeHead(given.status, { ...given.headers, 'content-length': given.body.length });
  if (given.delivery.kind !== 'truncated') return void response.end(method === 'HEAD' ? undefined : given.body);
  response.write(given.body.subarray(0, given.delivery.bytes), () => request.socket.destroy());
}

// The description of the controls is a file of the package, and not in the WebAssembly module.
function withDescription(path: string, answer: Answer): Answer {
  if (path !== '/_dynatwin/openapi.json' || answer.status !== 404) return answer;
  return { ...answer, status: 200, body: readFileSync(new URL('../openapi.json', import.meta.url)) };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LARGEST_BODY) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

// Returns whether a web page sent the request. Browsers send a page's origin with every request that may change
// something. A page whose host name resolves to this machine (DNS rebinding) is detected by that name.
function isOfPage({ headers }: IncomingMessage, host: string): boolean {
  if (headers.origin !== undefined) return true;
  if (!headers['user-agent']?.startsWith('Mozilla/')) return false;
  const name = (headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
  return !(name === 'localhost' || name.endsWith('.localhost') || name === host || /^(\[[\da-f:]+\]|127(\.\d+){3})$/.test(name));
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${message}\n`);
}

// Delivers answers. All clients share a settable clock, so only delays that apply to all of them advance it. The wait
// of a fault rule ends when the clock has advanced that far, or after the same real time, which does not count while the
// clock is frozen.
class Delays {
  readonly #twin: Dynatwin;
  readonly #held = new Map<() => void, number>();

  constructor(twin: Dynatwin) {
    this.#twin = twin;
  }

  async pass({ at, still: { held = 0, latency = 0 } = { held: 0, latency: 0 } }: Answer): Promise<void> {
    const { clock } = this.#twin;
    const wait = at - clock.now().getTime();
    if (wait <= 0) return;
    if (!clock.settable) return clock.sleep(wait);
    await clock.sleep(Math.max(0, wait - held - latency));
    if (held > 0) await this.#hold(held, at - latency);
  }

  #hold(milliseconds: number, until: number): Promise<void> {
    return new Promise((resolve) => {
      let left = milliseconds;
      let timer: NodeJS.Timeout;
      const end = () => {
        clearTimeout(timer);
        this.#held.delete(end);
        resolve();
      };
      const nap = () => {
        if (left <= 0) return end();
        const length = Math.min(left, NAP);
        timer = setTimeout(() => {
          if (!this.#twin.clock.frozen) left -= length;
          nap();
        }, length);
      };
      this.#held.set(end, until);
      nap();
    });
  }

  /** Ends the waits whose time the clock has passed. */
  release(): void {
    const now = this.#twin.clock.now().getTime();
    for (const [end, until] of this.#held) if (until <= now) end();
  }
}
