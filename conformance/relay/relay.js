// What both relays share: an HTTP server that passes each request to a twin elsewhere, and prints its address.
import { createServer } from 'node:http';

async function whole(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

// `answer` is given method, path, headers and body, and gives status, headers and body; what it throws is a broken
// connection. When the input ends, so does this, after `close`.
export async function listen(answer, close = async () => {}) {
  process.stdin.on('end', () => close().finally(() => process.exit())).resume();
  const server = createServer(async (request, response) => {
    try {
      const { status, headers, body } = await answer(request.method, request.url, request.headers, await whole(request));
      response.writeHead(status, headers).end(body);
    } catch (error) {
      console.error(error);
      request.destroy();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
}
