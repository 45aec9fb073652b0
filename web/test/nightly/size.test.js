// The size of the first load, of a module that is built for release.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browser, gzipped } from '../browser.js';

let chromium;
before(async () => {
  chromium = await browser();
});
after(() => chromium?.close());

test('the first load is at most 1.1 MB', async () => {
  const page = await chromium.open();
  await page.locator('.requests li').nth(2).waitFor({ timeout: 20_000 });
  const urls = [...new Set(page.loaded)];
  assert.ok(urls.some((url) => url.endsWith('.wasm')), 'the engine is one of the files');
  assert.ok(urls.every((url) => !url.includes('code-mirror')), 'the editor is loaded when it is touched');
  const size = gzipped(urls);
  console.log(`# first load: ${size} bytes gzip in ${urls.length} files`);
  const interactive = await page.evaluate(() => performance.getEntriesByName('interactive')[0].startTime);
  console.log(`# interactive after ${interactive.toFixed(0)} ms`);
  assert.ok(size <= 1_100_000, `${size} bytes`);
  assert.deepEqual(page.trouble, []);
});
