// The AWS SDK's `requestHandler` over a twin: no socket, the SDK is none the wiser.

// A lost answer comes never, and a client without a timeout waits for ever; this is how long it waits here.
const REQUEST_TIMEOUT = 30_000;

export function requestHandler(twin, { requestTimeout = REQUEST_TIMEOUT, onExchange } = {}) {
  const config = { requestTimeout };
  return {
    metadata: { handlerProtocol: 'http/1.1' },

    async handle(request, options = {}) {
      const answer = twin.handle(request.method, target(request), request.headers, await whole(request.body));
      onExchange?.({ request, answer });
      const patience = { requestTimeout: options.requestTimeout ?? config.requestTimeout, abortSignal: options.abortSignal };
      return { response: await twin.carry(answer, patience) };
    },

    updateHttpClientConfig(name, value) {
      config[name] = value;
    },

    httpHandlerConfigs() {
      return config;
    },

    destroy() {},
  };
}

function target({ path, query }) {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) =>
      one === null ? encodeURIComponent(name) : `${encodeURIComponent(name)}=${encodeURIComponent(one)}`,
    ),
  );
  return pairs.length === 0 ? path || '/' : `${path || '/'}?${pairs.join('&')}`;
}

// The SDK hands over a text or bytes; a compressed body may be a stream.
async function whole(body) {
  if (body === undefined || body === null || typeof body === 'string' || body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  return new Uint8Array(await new Response(body).arrayBuffer());
}
