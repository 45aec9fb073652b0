// The playground in a real Chromium.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { browser, runAll } from './browser.js';

let chromium;
let page;

before(async () => {
  chromium = await browser();
});
after(() => chromium?.close());
afterEach(async () => {
  const trouble = page?.trouble ?? [];
  await page?.close();
  page = undefined;
  assert.deepEqual(trouble, [], 'the console stays empty, and nothing leaves the page');
});

const results = () => page.locator('.step .result').allTextContents();
const rows = () => page.locator('#items-TaskBoard tbody tr').count();
const run = (title) => page.getByRole('button', { name: `Run: ${title}`, exact: true }).click();
const state = (id, wanted) => page.locator(`#step-${id}[data-state="${wanted}"]`).waitFor();
const news = (wanted) => page.locator('#news', { hasText: wanted }).waitFor();

test('the scenario does what it should, step by step', async () => {
  page = await chromium.open();
  assert.equal(await runAll(page), 'All 9 steps did what they should.');
  const [table, task, duplicate, list, complete, again, session, webhook, rate] = await results();
  assert.equal(table, 'The table TaskBoard is active.');
  assert.equal(task, 'TASK#001 was created.');
  assert.match(duplicate, /ConditionalCheckFailedException, as it should be/);
  assert.equal(list, '1 task, for 0.5 read capacity units.');
  assert.equal(complete, 'The status is DONE now, since 2026-01-01T00:00:00.000Z.');
  assert.match(again, /ConditionalCheckFailedException, as it should be/);
  assert.match(session, /lives for 7 days/);
  assert.equal(webhook, '1 of 50 racers won, and 49 were refused.');
  assert.equal(rate, 'The counter went to 5; each answer had a number of its own.');
  await page.locator('#items-TaskBoard tbody tr').nth(3).waitFor();
  assert.equal(await rows(), 4);
});

test('a session is gone when the clock has been pushed eight days', async () => {
  page = await chromium.open();
  await runAll(page);
  const session = page.locator('#items-TaskBoard tr', { hasText: 'SESSION#ada' });
  await session.getByText('in 7 days').waitFor();
  await page.getByRole('button', { name: 'Push the clock seven days forward' }).click();
  await page.getByRole('button', { name: 'Push the clock one day forward' }).click();
  await session.waitFor({ state: 'detached' });
  assert.equal(await rows(), 3);
  assert.equal(await page.locator('#clock').textContent(), '2026-01-09 00:00:00 UTC');
});

test('in the conditions of the service a session expires first and goes later', async () => {
  page = await chromium.open();
  await page.getByLabel('Conditions').selectOption('aws');
  await run('Create the table');
  await state('create-table', 'done');
  assert.match((await results())[0], /active after \d+ seconds of the twin’s time/);
  await run('Open a session');
  await state('session', 'done');
  await page.getByRole('button', { name: 'Push the clock seven days forward' }).click();
  const session = page.locator('#items-TaskBoard tr', { hasText: 'SESSION#ada' });
  await session.getByText(/expired|in \d+ second/).waitFor();
  for (let day = 0; day < 3; day += 1) await page.getByRole('button', { name: 'Push the clock one day forward' }).click();
  await session.waitFor({ state: 'detached' });
});

test('throttled requests are tried again by the SDK, and the log shows it', async () => {
  page = await chromium.open();
  await run('Create the table');
  await state('create-table', 'done');
  await page.getByRole('button', { name: /Throttle the next 2/ }).click();
  await page.getByText('2 requests still to be throttled.').waitFor();
  await run('Create a task');
  await state('create-task', 'done');
  await page.getByText('No request is going to be throttled.').waitFor();
  const log = await page.locator('#requests summary').allInnerTexts();
  assert.deepEqual(log.slice(0, 3).map((line) => /PutItem\s+(\d+)/.exec(line)?.[1]), ['200', '400', '400']);
  assert.match(log[1], /Throttling|Throughput/);
});

test('an answer opens, with the keyboard too', async () => {
  page = await chromium.open();
  await run('Create the table');
  await state('create-table', 'done');
  await page.locator('#requests summary').first().focus();
  await page.keyboard.press('Enter');
  const answer = page.locator('#requests details[open] pre').last();
  await answer.waitFor();
  const texts = await page.locator('#requests details[open] pre').allTextContents();
  assert.match(texts[0], /"AttributeName": "expiresAt"/);
  assert.match(texts[1], /TimeToLiveSpecification/);
});

test('what goes wrong is said in words', async () => {
  page = await chromium.open();
  await run('List the project’s tasks');
  await state('list', 'failed');
  await news('There is no table TaskBoard yet: run “Create the table” first.');
});

test('starting over removes everything', async () => {
  page = await chromium.open();
  await runAll(page);
  await page.getByRole('button', { name: 'Start over' }).click();
  await page.getByText('No tables yet.').waitFor();
  await page.getByText('No requests yet.').waitFor();
  assert.equal(await page.locator('.step[data-state="idle"]').count(), 9);
  assert.match(await runAll(page), /All 9 steps/);
});

test('everything is reached by keyboard and has a name', async () => {
  page = await chromium.open();
  await runAll(page);
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll('button, select, a, [tabindex="0"]')]
      .filter((node) => !(node.getAttribute('aria-label') || node.textContent.trim() || node.labels?.length))
      .map((node) => node.outerHTML));
  assert.deepEqual(nameless, []);
  const reached = new Set();
  await page.locator('h1').click();
  for (let press = 0; press < 30; press += 1) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement?.textContent?.trim()));
  }
  for (const name of ['+1 h', '+7 days', 'Start over', 'Run all steps', 'Run']) assert.ok(reached.has(name), name);
});

test('words stand out from their ground, light and dark', async () => {
  for (const colorScheme of ['light', 'dark']) {
    await page?.close();
    page = await chromium.open({ colorScheme });
    await runAll(page);
    assert.deepEqual(await page.evaluate(faint), [], colorScheme);
  }
});

test('a narrow screen needs no scrolling sideways', async () => {
  page = await chromium.open({ viewport: { width: 360, height: 740 } });
  await runAll(page);
  await page.locator('#requests summary').first().click();
  const [width, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  assert.ok(width <= seen, `${width} of ${seen} pixels`);
});

// Runs in the page: texts with less than 4.5 : 1 to what lies behind them.
function faint() {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const channels = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (color) => {
    const [r, g, b] = channels(color).map((value) => ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (channels(color)[3] === 255) return color;
    }
    return getComputedStyle(document.documentElement).colorScheme.includes('dark') ? 'black' : 'white';
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !node.checkVisibility() || node.closest('script, noscript, [aria-disabled=true]')) continue;
    const [one, two] = [light(getComputedStyle(node).color), light(behind(node))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (two + 0.05);
    if (ratio < 4.5) found.push(`${texts.currentNode.data.trim()}: ${ratio.toFixed(2)}`);
  }
  return found;
}
