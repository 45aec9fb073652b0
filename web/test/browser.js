// The built page on a free port, and a real Chromium to open it in.
import { createReadStream, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

async function serve() {
  if (!existsSync(join(DIST, 'index.html'))) throw new Error('There is no web/dist: run `npm run build` first.');
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const file = join(DIST, normalize(pathname === '/' ? '/index.html' : decodeURIComponent(pathname)));
    if (!file.startsWith(DIST) || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, address: `http://127.0.0.1:${server.address().port}/` };
}

// Opens pages; `page.trouble` collects what they complain of, and each request that goes anywhere else.
export async function browser() {
  const { server, address } = await serve();
  const profile = mkdtempSync(join(tmpdir(), 'dynatwin-browser-'));
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args: FLAGS });
  return {
    async open(settings = {}) {
      const page = await context.newPage();
      await page.setViewportSize(settings.viewport ?? { width: 1280, height: 900 });
      await page.emulateMedia({ colorScheme: settings.colorScheme ?? 'light', reducedMotion: 'reduce' });
      page.trouble = [];
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) page.trouble.push(message.text());
      });
      page.on('pageerror', (error) => page.trouble.push(String(error)));
      page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(address) && !url.startsWith('data:')) page.trouble.push(`request to ${url}`);
      });
      await page.goto(address);
      await page.getByRole('button', { name: 'Run all steps' }).waitFor();
      return page;
    },
    async close() {
      await context.close();
      await new Promise((resolve) => server.close(resolve));
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

// Runs all steps and waits for the word on them.
export async function runAll(page) {
  await page.getByRole('button', { name: 'Run all steps' }).click();
  await page.waitForFunction(() => /steps? did/.test(document.getElementById('news').textContent), undefined, { timeout: 30_000 });
  return page.getByRole('status').textContent();
}
