// Each lesson under all three conditions, in two browsers, with the engine in the tab and on a server: wrong passes where nothing goes
// wrong and fails where it does, right always holds.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browser } from '../browser.js';
import { start } from '../dynatwin.js';
import { firefox, until } from '../firefox.js';
import { serve } from '../serve.js';

/** Where the wrong way holds. */
const LESSONS = {
  filter: [],
  backoff: ['calm'],
  batches: ['calm'],
  sessions: ['calm'],
  'hot-keys': ['calm'],
  'rate-limit': ['calm'],
  jobs: ['calm'],
  regions: ['calm'],
  tokens: [],
  retries: [],
};
const PRESETS = ['calm', 'aws', 'storm'];

let site;
let server;
let chromium;
let other;
before(async () => {
  [site, server, chromium, other] = await Promise.all([serve(), start(), browser(), firefox()]);
});
after(async () => {
  await Promise.all([chromium?.close(), other?.close(), site?.close()]);
  server?.stop();
});

const PLACES = {
  'Chromium, in the tab': () => chromium.open({ url: site.address }),
  'Chromium, on a server': () => chromium.open({ url: `${server.address}/_dynatwin/ui/` }),
  'Firefox, in the tab': () => other.open(site.address),
  'Firefox, on a server': () => other.open(`${server.address}/_dynatwin/ui/`),
};

async function outcome(page) {
  await page.evaluate(() => document.querySelector('.lesson button').click());
  await until(page, () => !document.querySelector('.lesson button').disabled && [...document.querySelectorAll('.lesson tbody td')].every((cell) => cell.textContent !== 'not run'));
  return page.evaluate(() => [...document.querySelectorAll('.lesson tbody tr')].map((line) => [...line.cells].slice(1).map(({ dataset, textContent }) => [dataset.held, textContent])));
}

for (const [place, open] of Object.entries(PLACES)) {
  test(`lessons: ${place}`, async (context) => {
    const page = await open();
    await until(page, () => document.querySelector('#clock') !== null);
    for (const [id, wrongHolds] of Object.entries(LESSONS)) {
      await context.test(`${id}: both outcomes, twice the same`, async () => {
        await page.evaluate((wanted) => {
          const select = document.querySelector('.top-tools select');
          select.value = wanted;
          select.dispatchEvent(new Event('change', { bubbles: true }));
        }, id);
        await until(page, (wanted) => document.querySelector('.lesson')?.dataset.lesson === wanted, id);
        const [wrong, right] = await outcome(page);
        assert.deepEqual(right.map(([held]) => held), ['true', 'true', 'true'], JSON.stringify(right));
        assert.deepEqual(wrong.map(([held]) => held), PRESETS.map((name) => String(wrongHolds.includes(name))), JSON.stringify(wrong));
        const again = await outcome(page);
        // A server's engine goes on where it is; the tab's starts again with the same seed.
        const compared = (outcome) => (place.endsWith('tab') ? outcome : outcome.map((line) => line.map(([held]) => held)));
        assert.deepEqual(compared(again), compared([wrong, right]), JSON.stringify(again));
      });
    }
    // Chromium prints each of the code's requests that a server refuses.
    assert.deepEqual(page.trouble.filter((message) => !/status of (400|500) /.test(message)), []);
  });
}
