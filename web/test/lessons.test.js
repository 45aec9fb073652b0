// Each lesson under all three conditions: wrong passes where nothing goes wrong and fails where it does, right always holds.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browser, choose } from './browser.js';

/** Where the wrong way holds. */
const LESSONS = {
  'Why does my filter cost so much?': [],
  'Retries with full jitter': ['calm'],
  'Unprocessed items': ['calm'],
  'Expired is not deleted': ['calm'],
  'A hot partition key': ['calm'],
  'A rate limit by an index': ['calm'],
  'A job that must run once': ['calm'],
  'Transactions and client tokens': [],
  'A retry meets its own write': [],
};

let chromium;
before(async () => {
  chromium = await browser();
});
after(() => chromium?.close());

for (const [title, wrongHolds] of Object.entries(LESSONS)) {
  test(`${title}: both outcomes, twice the same`, async () => {
    const page = await chromium.open();
    await choose(page, title);
    await page.locator('.lesson').waitFor();
    const button = page.getByRole('button', { name: 'Run under all three conditions' });
    const outcome = async () => {
      await button.click();
      await button.waitFor({ state: 'detached' });
      await button.waitFor({ timeout: 120_000 });
      return page.locator('.lesson tbody tr').evaluateAll((lines) => lines.map((line) => [...line.cells].slice(1).map(({ dataset, textContent }) => [dataset.held, textContent])));
    };
    const [wrong, right] = await outcome();
    assert.deepEqual(right.map(([held]) => held), ['true', 'true', 'true'], JSON.stringify(right));
    assert.deepEqual(wrong.map(([held]) => held), ['calm', 'aws', 'storm'].map((name) => String(wrongHolds.includes(name))), JSON.stringify(wrong));
    assert.deepEqual(await outcome(), [wrong, right]);
    assert.deepEqual(page.trouble, []);
    await page.context().close();
  });
}
