// The AWS SDK's `requestHandler` over a twin, without a socket.
import type { Dynatwin } from './twin.js';
import type { HttpRequest, RequestHandler, RequestHandlerOptions } from './types.js';

// A lost answer never arrives, and a client without a timeout would wait forever.
const REQUEST_TIMEOUT = 30_000;

/** Replaces the headers of a request. */
type Sign = (headers: Record<string, string>, body?: string | Uint8Array) => Promise<Record<string, string>>;

export function requestHandler(
  twin: Dynatwin,
  { requestTimeout = REQUEST_TIMEOUT, onExchange }: RequestHandlerOptions = {},
  sign?: Sign,
): RequestHandler {
  const config: Record<string, unknown> & { requestTimeout: number } = { requestTimeout };
  return {
    metadata: { handlerProtocol: 'http/1.1' },

    async handle(request, options = {}) {
      const body = await whole(request.body);
      const headers = sign === undefined ? request.headers : await sign(request.headers, body);
      const answer = twin.handle(request.method, target(request), headers, body);
      onExchange?.({ request, answer });
      const patience = {
        requestTimeout: options.requestTimeout ?? config.requestTimeout,
        abortSignal: options.abortSignal as AbortSignal | undefined,
      };
      return { response: await twin.carry(answer, patience) };
    },

    updateHttpClientConfig(name: string, value: unknown) {
      config[name] = value;
    },

    httpHandlerConfigs() {
      return config;
    },

    destroy() {},
  };
}

function target({ path, query }: HttpRequest): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) =>
      one === null ? encodeURIComponent(name) : `${encodeURIComponent(name)}=${encodeURIComponent(one)}`,
    ),
  );
  return pairs.length === 0 ? path || '/' : `${path || '/'}?${pairs.join('&')}`;
}

// The SDK passes text or bytes; a compressed body may be a stream.
async function whole(body: unknown): Promise<string | Uint8Array | undefined> {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  return new Uint8Array(await new Response(body as ReadableStream<Uint8Array>).arrayBuffer());
}
