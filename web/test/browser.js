// A real Chromium on the built page, or on another address.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { fileOf, serve } from './serve.js';

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function browser(address) {
  const site = address ? undefined : await serve();
  const base = address ?? site.address;
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  const engine = await chromium.launch({ executablePath, headless: true, args: FLAGS });
  return {
    base,
    // Opens a page in a profile of its own; `page.trouble` collects what it complains of, and requests that go elsewhere.
    async open({ path = '', viewport = { width: 1440, height: 900 }, colorScheme = 'light', motion = 'reduce', context, url = base + path } = {}) {
      context ??= await engine.newContext({ viewport, colorScheme, reducedMotion: motion, permissions: ['clipboard-read', 'clipboard-write'] });
      const page = await context.newPage();
      page.trouble = [];
      page.loaded = [];
      page.on('console', (message) => page.trouble.push(`${message.text()} ${message.location().url}`.trim()));
      page.on('pageerror', (error) => page.trouble.push(String(error)));
      page.on('request', (request) => {
        const to = request.url();
        if (/^http/.test(to)) page.loaded.push(to);
        if (!to.startsWith(new URL(url).origin) && !/^(data|blob):/.test(to)) page.trouble.push(`request to ${to}`);
      });
      await page.addInitScript(() => {
        // Cumulative layout shift: the largest sum of a session of at most five seconds, without a second's gap.
        globalThis.shift = 0;
        let session = { sum: 0, first: -Infinity, last: -Infinity };
        // What an input shifts is not counted, but the browser takes a choice that a test makes for none.
        globalThis.resetShift = () => {
          session = { sum: 0, first: -Infinity, last: -Infinity };
          globalThis.shift = 0;
        };
        new PerformanceObserver((list) => {
          for (const { value, startTime, hadRecentInput } of list.getEntries()) {
            if (hadRecentInput) continue;
            const goesOn = startTime - session.last < 1000 && startTime - session.first < 5000;
            session = goesOn ? { ...session, sum: session.sum + value, last: startTime } : { sum: value, first: startTime, last: startTime };
            globalThis.shift = Math.max(globalThis.shift, session.sum);
          }
        }).observe({ type: 'layout-shift', buffered: true });
      });
      await page.goto(url);
      await page.locator('#clock').waitFor();
      return page;
    },
    async close() {
      await engine.close();
      await site?.close();
    },
  };
}

/** Bytes of a page's own files, gzipped. */
export const gzipped = (urls) => urls.reduce((sum, url) => sum + gzipSync(readFileSync(fileOf(url)), { level: 9 }).length, 0);

/** What axe-core finds on a page. */
export async function violations(page) {
  // Evaluated by the browser's own tools, which the page's Content-Security-Policy does not bind.
  await page.evaluate(AXE);
  const { violations: found } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join(' | ')}`);
}

/** Chooses an example by its title. */
export const choose = (page, title) => page.getByLabel('Example').selectOption({ label: title });

/** Puts code into the editor, and runs it from the start. */
export async function run(page, code) {
  // While the page starts, its opening example replaces what is in the editor.
  await page.waitForFunction(() => performance.getEntriesByName('interactive').length > 0);
  await write(page, code);
  const stop = page.getByRole('button', { name: 'Stop', exact: true });
  if (await stop.isVisible()) await stop.click();
  await page.getByRole('button', { name: /^Run from the start|^Run$/ }).click();
}

/**
 * Replaces the text of the editor of the open tab, by pasting. It waits for CodeMirror, which would otherwise replace the
 * text field while it is filled.
 */
export async function write(page, text) {
  await page.locator('.code-pane .editor').hover();
  const editor = page.locator('.cm-content').first();
  await editor.waitFor();
  await editor.click();
  await page.keyboard.press('Control+A');
  await page.evaluate((pasted) => navigator.clipboard.writeText(pasted), text);
  await page.keyboard.press('Control+V');
}

/** Creates a table in the panel of tables, fills it from a file, exports, empties and deletes it. */
export async function manageTable(page) {
  await page.getByRole('button', { name: 'Create table' }).click();
  const form = page.locator('dialog.create-table');
  await form.getByLabel('Name', { exact: true }).fill('Customers');
  await form.getByLabel('Partition key', { exact: true }).fill('id');
  await form.getByLabel('Sort key', { exact: true }).fill('');
  await form.getByLabel('Time to live').fill('expiresAt');
  await form.getByRole('button', { name: 'Add global index' }).click();
  await form.getByLabel('Name', { exact: true }).nth(1).fill('by-city');
  await form.getByLabel('Partition key of index 1', { exact: true }).fill('city');
  await form.getByRole('button', { name: 'Add local index' }).click();
  await form.getByLabel('Name', { exact: true }).nth(2).fill('by-rank');
  await form.getByLabel('Sort key', { exact: true }).fill('year');
  await form.getByLabel('Sort key of index 2', { exact: true }).fill('rank');
  await form.getByLabel('Projection').nth(1).selectOption('INCLUDE');
  await form.getByLabel('Projected attributes of index 2').fill('city, tags');
  assert.deepEqual(await violations(page), [], 'the form');
  await form.getByRole('button', { name: 'Remove' }).nth(1).click();
  await form.getByLabel('Sort key', { exact: true }).fill('');
  await form.getByRole('button', { name: 'Create table' }).click();
  await form.waitFor({ state: 'detached' });
  const row = page.locator('.tables tr', { hasText: 'Customers' });
  await row.getByText('on demand · 1 index · expires by expiresAt').waitFor();

  const lines = Array.from({ length: 40 }, (_, n) => JSON.stringify(n % 2 ? { id: `c-${n}`, city: 'Bern' } : { Item: { id: { S: `c-${n}` }, tags: { SS: ['a', 'b'] } } }));
  await row.getByLabel('Import into Customers').setInputFiles({ name: 'customers.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(lines.join('\n')) });
  await row.locator('td', { hasText: /^40$/ }).waitFor();
  assert.equal(await row.getByLabel('Import into Customers').inputValue(), '', 'the file can be chosen again');
  const [file] = await Promise.all([page.waitForEvent('download'), row.getByRole('button', { name: 'Export Customers' }).click()]);
  assert.equal(file.suggestedFilename(), 'Customers.jsonl');
  const items = readFileSync(await file.path(), 'utf8').trim().split('\n').map((line) => JSON.parse(line).Item);
  assert.equal(items.length, 40);
  assert.deepEqual(items.find(({ id }) => id.S === 'c-2'), { id: { S: 'c-2' }, tags: { SS: ['a', 'b'] } });
  assert.deepEqual(items.find(({ id }) => id.S === 'c-3'), { id: { S: 'c-3' }, city: { S: 'Bern' } });

  await row.getByRole('button', { name: 'Empty Customers' }).click();
  await page.getByRole('button', { name: 'Delete all items' }).click();
  await row.locator('td', { hasText: /^0$/ }).waitFor();
  await row.getByRole('button', { name: 'Delete Customers' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Delete table' }).click();
  await row.waitFor({ state: 'detached' });
}

export const printed = (page, text) => withOutput(page, `a line with ${text}`, page.locator('.output li', { hasText: text }).first());
export const state = (page, wanted) => withOutput(page, `the state ${wanted}`, page.locator(`.state[data-state="${wanted}"]`));

/** Waits for what a run shows; if it does not, the error has the run's state and output. */
async function withOutput(page, wanted, locator) {
  try {
    await locator.waitFor({ timeout: 20_000 });
  } catch (error) {
    const shown = await page.locator('.state').getAttribute('data-state');
    const output = await page.locator('.output').innerText();
    throw new Error(`no ${wanted}: the code is ${shown}, and its output is\n${output.slice(-2_000)}\nthe console:\n${page.trouble.join('\n')}`, { cause: error });
  }
}

/** Pauses time once it plays: an example starts it when its tables are there. */
export const pause = async (page) => {
  await page.getByRole('button', { name: 'Pause time' }).click();
  await page.getByRole('button', { name: 'Play time' }).waitFor();
};
export const clock = (page) => page.locator('#clock').textContent();

/** That nothing was printed to the console, and nothing left the page. */
export const quiet = (page) => assert.deepEqual(page.trouble, [], 'the console stays empty, and nothing leaves the page');

/** That nothing moves by itself. */
export async function stable(page) {
  const shift = await page.evaluate(() => globalThis.shift);
  assert.ok(shift < 0.05, `the layout shifts by ${shift}`);
}
