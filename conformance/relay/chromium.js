// The twin's wasm build in a page of headless Chromium, behind HTTP. Argument: the seed.
import { createReadStream, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listen } from './relay.js';

const { chromium } = createRequire(new URL('../../web/package.json', import.meta.url))('playwright-core');
const PACKAGE = fileURLToPath(new URL('../../wasm/npm', import.meta.url));
const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

// The package's files, for the page to import.
async function serve() {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const file = join(PACKAGE, normalize(decodeURIComponent(pathname)));
    const type = TYPES[extname(file)];
    if (pathname === '/') response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>relay</title>');
    else if (!type || !file.startsWith(PACKAGE) || !existsSync(file)) response.writeHead(404).end();
    else createReadStream(file).pipe(response.writeHead(200, { 'content-type': type }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${server.address().port}/`;
}

const profile = mkdtempSync(join(tmpdir(), 'dynatwin-relay-'));
process.on('exit', () => rmSync(profile, { recursive: true, force: true }));
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args: FLAGS });
const page = await context.newPage();
await page.goto(await serve());
await page.evaluate(async (seed) => {
  const { Dynatwin, ready } = await import('/dist/esm/browser.js');
  await ready();
  const twin = new Dynatwin({ seed });
  // Bodies are passed to the page as text of one letter a byte.
  const bytes = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const text = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  globalThis.answer = async ([method, path, headers, body]) => {
    const { statusCode, headers: answered, body: answer } = await twin.carry(twin.handle(method, path, headers, bytes(body)));
    return { status: statusCode, headers: answered, body: text(answer) };
  };
}, Number(process.argv[2]));

await listen(async (method, path, headers, body) => {
  const answer = await page.evaluate((request) => globalThis.answer(request), [method, path, headers, body.toString('latin1')]);
  return { ...answer, body: Buffer.from(answer.body, 'latin1') };
}, () => context.close());
