// The playground in Firefox.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { firefox, until } from '../firefox.js';
import { serve } from '../serve.js';

let site;
let engine;
let page;

before(async () => {
  site = await serve();
  engine = await firefox();
  page = await engine.open(site.address);
});
after(async () => {
  await engine?.close();
  await site?.close();
});

const press = (name) =>
  page.evaluate((wanted) => [...document.querySelectorAll('button')].find((button) => button.textContent.trim() === wanted).click(), name);
const has = (selector, text) => until(page, (where, what) => [...document.querySelectorAll(where)].some((one) => one.textContent.includes(what)), selector, text);

test('it opens running', async () => {
  await has('.requests li:nth-child(4)', '');
  await has('.table-box', 'Shop');
});

test('the guide’s application runs unchanged, and eight days later its session is gone', async () => {
  await page.evaluate(() => document.querySelector('.editor textarea').focus());
  await has('.editor[data-editor=ready]', '');
  await page.select('.top-tools select', 'task-board');
  await has('.output li', 'counted three requests');
  await press('Items');
  await has('.grid td', 'SESSION#');
  await press('+1 week');
  await press('+1 day');
  await until(page, () => document.getElementById('clock').textContent.startsWith('2026-01-09'));
  await until(page, () => ![...document.querySelectorAll('.grid td')].some((cell) => cell.textContent.includes('SESSION#')));
});

test('the console stays empty', () => {
  assert.deepEqual(page.trouble, []);
});
