// The playground and the server's console in Firefox.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { start } from '../dynatwin.js';
import { firefox, until } from '../firefox.js';
import { serve } from '../serve.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let site;
let server;
let engine;
before(async () => {
  [site, server, engine] = await Promise.all([serve(), start(), firefox()]);
});
after(async () => {
  await engine?.close();
  await site?.close();
  server?.stop();
});

const HOMES = { 'in the tab': () => site.address, 'on a server': () => `${server.address}/_dynatwin/ui/` };

const press = (page, name) =>
  page.evaluate((wanted) => [...document.querySelectorAll('button')].find((button) => button.textContent.trim() === wanted).click(), name);
const has = (page, selector, text) => until(page, (where, what) => [...document.querySelectorAll(where)].some((one) => one.textContent.includes(what)), selector, text);
const clockShows = (page, text) => until(page, (wanted) => document.getElementById('clock').textContent.startsWith(wanted), text);

async function violations(page) {
  await page.evaluate(AXE);
  return page.evaluate(async () => (await globalThis.axe.run(document, { resultTypes: ['violations'] })).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`));
}

test('the opening example runs, and a shared link gives the same event log in a fresh profile', async () => {
  const page = await engine.open(site.address);
  await has(page, '.table-box', 'Shop');
  await has(page, '.requests li:nth-child(9)', '');
  await page.evaluate(() => document.querySelector('button[aria-label="Pause time"]').click());
  await press(page, '+1 min');
  await clockShows(page, '2026-01-01 00:01');
  const share = async (from) => {
    await press(from, 'Share');
    await until(from, () => /^[0-9a-f]{12}$/.test(document.getElementById('digest')?.textContent ?? ''));
    return from.evaluate(() => [document.getElementById('digest').textContent, document.querySelector('input[aria-label=Link]').value]);
  };
  const [digest, link] = await share(page);
  const fresh = await engine.open(link, { fresh: true });
  await clockShows(fresh, '2026-01-01 00:01');
  assert.equal((await share(fresh))[0], digest);
  for (const one of [page, fresh]) assert.deepEqual(one.trouble, []);
});

for (const [home, address] of Object.entries(HOMES)) {
  test(`the guide’s application runs unchanged, and its session is deleted after eight days: ${home}`, async () => {
    const page = await engine.open(address());
    await until(page, () => document.querySelector('.editor textarea') !== null);
    await page.evaluate(() => document.querySelector('.editor textarea').focus());
    await has(page, '.editor[data-editor=ready]', '');
    await page.select('.top-tools select', 'task-board');
    await has(page, '.about', 'Conditional writes');
    if (home === 'on a server') await press(page, 'Run');
    await has(page, '.output li', 'counted three requests');
    await press(page, 'Items');
    await has(page, '.grid td', 'SESSION#');
    await press(page, '+1 week');
    await press(page, '+1 day');
    await clockShows(page, '2026-01-09');
    await until(page, () => ![...document.querySelectorAll('.grid td')].some((cell) => cell.textContent.includes('SESSION#')));
    assert.deepEqual(page.trouble, []);
  });

  test(`focus survives refreshes, and axe finds nothing: ${home}`, async () => {
    const page = await engine.open(address());
    await has(page, '.table-box', '');
    await press(page, 'Requests');
    await until(page, () => document.querySelector('input[type=search]') !== null);
    await page.focus('input[type=search]');
    await page.keyboard.type('Item');
    const time = await page.evaluate(() => document.getElementById('clock').textContent);
    await press(page, '+1 min');
    await until(page, (before) => document.getElementById('clock').textContent !== before, time);
    await page.keyboard.type('s');
    assert.equal(await page.evaluate(() => document.activeElement.value), 'Items');
    await page.evaluate(() => document.querySelector('button[aria-label="Pause time"]')?.click());
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(page.trouble, []);
  });
}
