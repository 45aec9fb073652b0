// Delivers an answer as the engine defines. The engine itself never waits and closes no connection.
import type { Answer, Clock, HttpResponse, Patience } from './types.js';

// The errors have the names and codes of Node's sockets, which the AWS SDK uses to decide on a retry.
const broken = (message: string) => Object.assign(new Error(message), { name: 'Error', code: 'ECONNRESET' });
const timedOut = (milliseconds: number) =>
  Object.assign(new Error(`No answer came within ${milliseconds} ms.`), { name: 'TimeoutError', code: 'ETIMEDOUT' });
const aborted = () => Object.assign(new Error('Request aborted'), { name: 'AbortError' });

/** Resolves when the answer is delivered, or rejects like a failing connection. */
export async function deliver(clock: Clock, answer: Answer, { requestTimeout = 0, abortSignal }: Patience = {}): Promise<HttpResponse> {
  if (abortSignal?.aborted) throw aborted();
  const { kind } = answer.delivery;
  const wait = Math.max(0, answer.at - clock.now().getTime());
  const late = requestTimeout > 0 && (kind === 'lost' || wait > requestTimeout);
  if (kind === 'lost' && !late) await untilAborted(abortSignal);
  const length = late ? requestTimeout : wait;
  if (length > 0) await orAborted(clock.sleep(length), abortSignal);
  if (late) throw timedOut(requestTimeout);
  if (kind === 'reset') throw broken('The connection was reset.');
  const body = answer.delivery.kind === 'truncated' ? cut(answer.body.subarray(0, answer.delivery.bytes)) : answer.body;
  const headers = { ...answer.headers, 'content-length': String(answer.body.length) };
  return { statusCode: answer.status, headers, body };
}

// Returns a stream that ends in an error after these bytes.
function cut(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      if (sent || bytes.length === 0) controller.error(broken('The connection ended before the body did.'));
      else controller.enqueue(bytes);
      sent = true;
    },
  });
}

function untilAborted(signal?: AbortSignal): Promise<never> {
  return orAborted(new Promise<never>(() => {}), signal);
}

function orAborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const stop = () => reject(aborted());
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
