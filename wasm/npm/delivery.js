// Carrying an answer out: when it says, and how it says. The engine never sleeps and breaks no connection; a door does.

// The errors are what Node's sockets give, by whose codes the AWS SDK knows what may be tried again.
const broken = (sentence) => Object.assign(new Error(sentence), { name: 'Error', code: 'ECONNRESET' });
const patienceOver = (milliseconds) =>
  Object.assign(new Error(`No answer came within ${milliseconds} ms.`), { name: 'TimeoutError', code: 'ETIMEDOUT' });
const aborted = () => Object.assign(new Error('Request aborted'), { name: 'AbortError' });

// Resolves to { statusCode, headers, body } when the answer is there, or fails as a connection fails.
export async function carry(clock, answer, { requestTimeout = 0, abortSignal } = {}) {
  if (abortSignal?.aborted) throw aborted();
  const { kind, bytes } = answer.delivery;
  const wait = Math.max(0, answer.at - clock.now().getTime());
  const late = requestTimeout > 0 && (kind === 'lost' || wait > requestTimeout);
  if (kind === 'lost' && !late) await untilAborted(abortSignal);
  const length = late ? requestTimeout : wait;
  if (length > 0) await orAborted(clock.sleep(length), abortSignal);
  if (late) throw patienceOver(requestTimeout);
  if (kind === 'reset') throw broken('The connection was reset.');
  const body = kind === 'truncated' ? cut(answer.body.subarray(0, bytes)) : answer.body;
  const headers = { ...answer.headers, 'content-length': String(answer.body.length) };
  return { statusCode: answer.status, headers, body };
}

// A body that breaks off.
function cut(bytes) {
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      if (sent || bytes.length === 0) controller.error(broken('The connection ended before the body did.'));
      else controller.enqueue(bytes);
      sent = true;
    },
  });
}

function untilAborted(signal) {
  return orAborted(new Promise(() => {}), signal);
}

function orAborted(work, signal) {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const stop = () => reject(aborted());
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
