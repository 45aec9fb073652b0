// The built page on a free port, below a path of its own.
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));
const FOLDER = '/some/where/';
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.svg': 'image/svg+xml' };

/** The file of an address of the page. */
export const fileOf = (url) => fileAt(new URL(url).pathname);

function fileAt(pathname) {
  const path = pathname.startsWith(FOLDER) ? pathname.slice(FOLDER.length) : 'missing';
  return join(DIST, normalize(decodeURIComponent(path) || 'index.html'));
}

export async function serve() {
  if (!existsSync(join(DIST, 'index.html'))) throw new Error('There is no web/dist: run `npm run build` first.');
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const file = fileAt(pathname);
    if (!file.startsWith(DIST) || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}${FOLDER}`,
    close: () => new Promise((resolve) => (server.close(resolve), server.closeAllConnections())),
  };
}
