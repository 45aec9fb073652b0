// Requests of the code's SDK clients and of its `fetch`, on their way to the engine.
import type { Call, Headers, Reply, Returned } from '../transport/transport';
import type { RecordedRequest } from '../transport/control';
import type { EmulatorClock } from './clock';

type Send = (method: string, path: string, headers: Headers, body: string | Uint8Array | undefined) => Promise<Reply>;

interface SdkRequest {
  method: string;
  path: string;
  headers: Headers;
  query?: Record<string, string | string[] | null>;
  body?: unknown;
}

/** A lost answer never arrives; a client without a timeout waits this long. */
const REQUEST_TIMEOUT = 30_000;
/** How many requests may be sent without time passing. */
const LIMIT = 50_000;

const fail = (name: string, message: string, code?: string) => Object.assign(new Error(message), { name, ...(code ? { code } : {}) });

/** Sends requests to the engine's Worker. */
export function overPort(port: MessagePort): Send {
  const waiting = new Map<number, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>();
  let last = 0;
  port.onmessage = ({ data }: MessageEvent<Returned>) => {
    const one = waiting.get(data.id);
    waiting.delete(data.id);
    if ('failure' in data) one?.reject(new Error(data.failure));
    else if ('reply' in data) one?.resolve(data.reply);
  };
  return (method, path, headers, body) =>
    new Promise((resolve, reject) => {
      const call: Call = { id: (last += 1), method, path, headers, body };
      waiting.set(call.id, { resolve, reject });
      port.postMessage(call);
    });
}

/** Sends requests to the server that serves the page, which delivers its answers itself. */
export function overFetch(base: string, fetch: typeof globalThis.fetch): Send {
  const lost = new LostAnswers(base, fetch);
  return async (method, path, given, body) => {
    const { host: __, ...sent } = given;
    const ended = new AbortController();
    const forget = await lost.expect(sent, () => ended.abort());
    try {
      const response = await fetch(base + path, { method, headers: sent, body: method === 'GET' ? undefined : (body as BodyInit), credentials: 'omit', signal: ended.signal });
      const received = new Uint8Array(await response.arrayBuffer());
      // The server's Date headers are by the machine's clock. The SDK would take the difference to the emulator's clock
      // for skew, and retry every error.
      const { date: _, ...headers } = Object.fromEntries(response.headers);
      return { status: response.status, headers, body: received, at: 0, delivery: { kind: 'whole' } };
    } catch {
      return { status: 0, headers: {}, body: new Uint8Array(), at: 0, delivery: { kind: ended.signal.aborted ? 'lost' : 'reset' } };
    } finally {
      forget();
    }
  };
}

interface Awaited {
  operation: string;
  accessKey: string;
  /** When it was sent, by the machine's clock. */
  since: number;
  end: () => void;
}

/** After how long it is checked whether an answer was lost, in milliseconds of real time. */
const OVERDUE = 300;

/** Finds out from the request log which answers the server never sends: their connections stay open. */
class LostAnswers {
  #awaited = new Set<Awaited>();
  #after: Promise<number> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly base: string,
    readonly fetch: typeof globalThis.fetch,
  ) {}

  /** Calls `end` if the answer of a request that is sent now is lost. Returns what ends the wait. */
  async expect(headers: Headers, end: () => void): Promise<() => void> {
    const named = (name: string) => Object.entries(headers).find(([header]) => header.toLowerCase() === name)?.[1] ?? '';
    const operation = named('x-amz-target').replace(/^.*\./, '');
    if (!operation) return () => {};
    this.#after ??= this.#log('limit=1').then(({ seen }) => seen, () => 0);
    await this.#after;
    const awaited: Awaited = { operation, accessKey: /Credential=([^/]+)/.exec(named('authorization'))?.[1] ?? '', since: realNow(), end };
    this.#awaited.add(awaited);
    this.#timer ??= realSetTimeout(() => void this.#check(), OVERDUE);
    return () => this.#awaited.delete(awaited);
  }

  async #check(): Promise<void> {
    const overdue = [...this.#awaited].filter(({ since }) => realNow() - since >= OVERDUE);
    if (overdue.length > 0) await this.#end(overdue).catch(() => {});
    this.#timer = this.#awaited.size > 0 ? realSetTimeout(() => void this.#check(), OVERDUE) : undefined;
  }

  async #end(overdue: Awaited[]): Promise<void> {
    const { requests } = await this.#log(`after=${await this.#after}&limit=1000`);
    const last = requests.at(-1);
    if (last) this.#after = Promise.resolve(last.number);
    for (const { operation, caller, delivery } of requests) {
      if (delivery.kind !== 'lost') continue;
      const at = overdue.findIndex((awaited) => awaited.operation === operation && awaited.accessKey === caller.accessKey);
      overdue.splice(at, at < 0 ? 0 : 1)[0]?.end();
    }
  }

  async #log(query: string): Promise<{ seen: number; requests: LoggedRequest[] }> {
    const response = await this.fetch(`${this.base}/_dynatwin/requests?${query}`, { cache: 'no-store', credentials: 'omit' });
    return (await response.json()) as { seen: number; requests: LoggedRequest[] };
  }
}

type LoggedRequest = Pick<RecordedRequest, 'number' | 'operation' | 'caller' | 'delivery'>;

const realSetTimeout = globalThis.setTimeout.bind(globalThis);
const realNow = performance.now.bind(performance);

/** Delivers answers when and how the engine defines. */
export class Connection {
  #moment = -1;
  #sent = 0;

  constructor(
    readonly clock: EmulatorClock,
    readonly send: Send,
  ) {}

  async request(method: string, path: string, headers: Headers, body: string | Uint8Array | undefined, signal?: AbortSignal, timeout = REQUEST_TIMEOUT): Promise<Reply> {
    if (signal?.aborted) throw fail('AbortError', 'Request aborted');
    this.#count();
    const reply = await this.clock.during(this.send(method, path, headers, body));
    const { kind } = reply.delivery;
    const wait = Math.max(0, Math.ceil(reply.at - this.clock.now));
    const late = timeout > 0 && (kind === 'lost' || wait > timeout);
    if (late) {
      await aborted(this.clock.sleep(timeout), signal);
      throw fail('TimeoutError', `No answer came within ${timeout} ms.`, 'ETIMEDOUT');
    }
    if (kind === 'lost') await aborted(new Promise(() => {}), signal);
    if (wait > 0) await aborted(this.clock.sleep(wait), signal);
    if (kind === 'reset') throw fail('Error', 'The connection was reset.', 'ECONNRESET');
    if (kind === 'truncated') throw fail('Error', 'The connection ended before the body did.', 'ECONNRESET');
    return reply;
  }

  #count(): void {
    const { now } = this.clock;
    if (now !== this.#moment) [this.#moment, this.#sent] = [now, 0];
    this.#sent += 1;
    if (this.#sent > LIMIT) throw new Error(`${LIMIT.toLocaleString('en')} requests were sent without time passing.`);
  }

  /** What an SDK client takes as its `requestHandler`. */
  handler(options: { requestTimeout?: number } = {}) {
    const config: Record<string, unknown> = { ...options };
    return {
      metadata: { handlerProtocol: 'http/1.1' },
      handle: async (request: SdkRequest, given: { abortSignal?: AbortSignal; requestTimeout?: number } = {}) => {
        const body = await bytes(request.body);
        const timeout = given.requestTimeout ?? (config['requestTimeout'] as number | undefined);
        const reply = await this.request(request.method, target(request), request.headers, body, given.abortSignal, timeout);
        return { response: { statusCode: reply.status, headers: reply.headers, body: reply.body } };
      },
      updateHttpClientConfig: (name: string, value: unknown) => void (config[name] = value),
      httpHandlerConfigs: () => config,
      destroy: () => {},
    };
  }

  /** `fetch`, whose only host is the emulator. */
  async fetch(input: string | URL | Request, init: FetchOptions = {}) {
    const url = new URL(input instanceof Request ? input.url : String(input));
    const local = ['localhost', '127.0.0.1', '[::1]', 'dynamodb', 'dynamodb-local', 'host.docker.internal'].includes(url.hostname);
    if (!local && !/\bdynamodb\b.*\.amazonaws\.com(\.cn)?$/.test(url.hostname)) {
      throw new TypeError(`Code in the playground reaches the emulator alone, not ${url.host}.`);
    }
    const { method = 'GET', headers, body, signal } = input instanceof Request ? await this.clock.during(optionsOf(new Request(input, init as RequestInit))) : init;
    const reply = await this.request(method, url.pathname + url.search, Object.fromEntries(new Headers(headers)), await bytes(body), signal, 0);
    return new FetchResponse(reply, url.href);
  }
}

interface FetchOptions {
  method?: string;
  headers?: HeadersInit;
  body?: unknown;
  signal?: AbortSignal;
}

async function optionsOf(request: Request): Promise<FetchOptions> {
  const { method, headers, signal } = request;
  const body = await request.arrayBuffer();
  return { method, headers, signal, ...(body.byteLength > 0 && { body }) };
}

/** A response whose body is there at once. */
class FetchResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly statusText = '';
  readonly headers: globalThis.Headers;
  readonly body = null;
  readonly #bytes: Uint8Array;

  constructor(
    reply: Reply,
    readonly url: string,
  ) {
    this.status = reply.status;
    this.ok = reply.status < 300;
    this.headers = new Headers(reply.headers);
    this.#bytes = reply.body;
  }

  text = async () => new TextDecoder().decode(this.#bytes);
  json = async () => JSON.parse(await this.text()) as unknown;
  bytes = async () => this.#bytes;
  arrayBuffer = async () => this.#bytes.slice().buffer;
}

function target({ path, query }: SdkRequest): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => (one === null ? encodeURIComponent(name) : `${encodeURIComponent(name)}=${encodeURIComponent(one)}`)),
  );
  return pairs.length === 0 ? path || '/' : `${path || '/'}?${pairs.join('&')}`;
}

async function bytes(body: unknown): Promise<string | Uint8Array | undefined> {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  return new Uint8Array(await new Response(body as BodyInit).arrayBuffer());
}

function aborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const stop = () => reject(fail('AbortError', 'Request aborted'));
    signal.addEventListener?.('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener?.('abort', stop));
  });
}
