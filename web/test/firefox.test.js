// The playground in Firefox, over WebDriver BiDi.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { serve } from './serve.js';

const PROGRAMS = [process.env.FIREFOX, '/usr/bin/firefox-esr', '/usr/bin/firefox'];

let site;
let firefox;
let page;
const trouble = [];

before(async () => {
  site = await serve();
  const executablePath = PROGRAMS.find((program) => program && existsSync(program));
  firefox = await puppeteer.launch({ browser: 'firefox', executablePath, headless: true, defaultViewport: null, args: ['--width=1440', '--height=900'] });
  page = await firefox.newPage();
  page.on('console', (message) => trouble.push(message.text()));
  page.on('pageerror', (error) => trouble.push(String(error)));
});
after(async () => {
  await firefox?.close();
  await site?.close();
});

const press = (name) =>
  page.evaluate((wanted) => [...document.querySelectorAll('button')].find((button) => button.textContent.trim() === wanted).click(), name);
// Asked again and again from here: the page's Content-Security-Policy allows no `eval`, which `waitForFunction` uses.
async function until(condition, ...words) {
  for (let turn = 0; turn < 600; turn += 1) {
    if (await page.evaluate(condition, ...words)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`It did not come to ${condition} ${words}`);
}
const has = (selector, text) => until((where, what) => [...document.querySelectorAll(where)].some((one) => one.textContent.includes(what)), selector, text);

test('it opens running', async () => {
  await page.goto(site.address);
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
  await until(() => document.getElementById('clock').textContent.startsWith('2026-01-09'));
  await until(() => ![...document.querySelectorAll('.grid td')].some((cell) => cell.textContent.includes('SESSION#')));
});

test('the console stays empty', () => {
  assert.deepEqual(trouble, []);
});
