// Lets the pauses between an SDK client's attempts pass on a server's settable clock.

const HEADER = 'x-dynatwin-advance';

// Sends with each further attempt of `client` the seconds since the last one ended. Concurrent requests each send their own
// pauses, whose sum moves the clock. The pauses still take their real time. Servers of other kinds ignore the header.
export function passPauses(client) {
  const passing = (next) => {
    let ended;
    return async (args) => {
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
