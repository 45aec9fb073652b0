// Makes an SDK client's backoff advance a server's settable clock.

const HEADER = 'x-dynatwin-advance';

/**
 * For a client of a server with a settable clock: each retry sends the seconds since the last attempt ended in the
 * header `X-Dynatwin-Advance`, so that the client's backoff passes on that clock. Concurrent requests each send their
 * own pauses, whose sum advances the clock. The pauses still take real time, and other servers ignore the header.
 * Returns the client.
 */
export function passPauses<Client extends { middlewareStack: any }>(client: Client): Client {
  const passing = (next: (args: any) => Promise<any>) => {
    let ended: number | undefined;
    return async (args: any) => {
      const { headers } = args.request;
      delete headers[HEADER];
      const attempt = /attempt=(\d+)/.exec(headers['amz-sdk-request'])?.[1];
      if (ended !== undefined && attempt !== '1') headers[HEADER] = ((performance.now() - ended) / 1000).toFixed(6);
      try {
        return await next(args);
      } finally {
        ended = performance.now();
      }
    };
  };
  client.middlewareStack.add(passing, { step: 'finalizeRequest', priority: 'low', name: 'passPauses', override: true });
  return client;
}
