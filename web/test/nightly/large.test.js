// A table of 100,000 items in the console.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browser, quiet } from '../browser.js';
import { start } from '../dynatwin.js';

const ITEMS = 100_000;
const BATCH = 25;
const ENTRIES = ITEMS / 4;

async function call(server, operation, body) {
  const response = await fetch(server.address, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDB_20120810.${operation}`,
      'x-amz-date': '20260101T000000Z',
      authorization: `AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}`,
    },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 200, await response.text());
}

async function fill(server) {
  await call(server, 'CreateTable', {
    TableName: 'Large',
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: ['PK', 'team'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })).concat({ AttributeName: 'SK', AttributeType: 'N' }),
    KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }, { AttributeName: 'SK', KeyType: 'RANGE' }],
    GlobalSecondaryIndexes: [{ IndexName: 'by-team', KeySchema: [{ AttributeName: 'team', KeyType: 'HASH' }], Projection: { ProjectionType: 'KEYS_ONLY' } }],
  });
  let batch = 0;
  const write = async () => {
    while (batch < ITEMS / BATCH) {
      const first = BATCH * batch++;
      const puts = Array.from({ length: BATCH }, (_, at) => ({ PutRequest: { Item: { PK: { S: `USER#${first % 500}` }, SK: { N: String(first + at) }, name: { S: 'Ada Lovelace' }, ...((first + at) % 4 === 0 ? { team: { S: `team-${first % 7}` } } : {}) } } }));
      await call(server, 'BatchWriteItem', { RequestItems: { Large: puts } });
    }
  };
  await Promise.all(Array.from({ length: 8 }, write));
}

/** Scrolls by `step` pixels in each of 300 frames; returns their lengths in milliseconds, and the most rows in the document. */
const scroll = (page, step) =>
  page.evaluate(async (pixels) => {
    const grid = document.querySelector('.grid');
    const frames = [];
    let rows = 0;
    let last = performance.now();
    for (let frame = 0; frame < 300; frame += 1) {
      grid.scrollTop += pixels;
      const now = await new Promise(requestAnimationFrame);
      frames.push(now - last);
      last = now;
      rows = Math.max(rows, grid.querySelectorAll('tr').length);
    }
    return { frames: frames.sort((one, other) => one - other), rows };
  }, step);

/** Scrolls to a row, and waits until what is seen has been read: returns how long that takes, and how many reads. */
const jump = (page, row) =>
  page.evaluate(async (top) => {
    const grid = document.querySelector('.grid');
    const reads = () => performance.getEntriesByType('resource').filter(({ name }) => name.includes('/items?')).length;
    performance.setResourceTimingBufferSize(10_000);
    const [start, before] = [performance.now(), reads()];
    grid.scrollTop = top;
    const unread = () => document.querySelector('.grid .unread') !== null;
    do await new Promise(requestAnimationFrame);
    while (unread());
    return { wait: performance.now() - start, reads: reads() - before };
  }, row * 34);

test('100,000 items scroll, with only the visible rows in the document', async () => {
  const server = await start();
  const chromium = await browser(`${server.address}/_dynatwin/ui/`);
  try {
    await fill(server);
    const page = await chromium.open();
    await page.getByRole('tab', { name: 'Items', exact: true }).click();
    await page.getByText('100,000 items').first().waitFor();
    await page.locator('.grid tbody tr').nth(5).waitFor();
    const { frames, rows } = await scroll(page, 90);
    console.log(`# frames: median ${frames[150].toFixed(1)} ms, 95th percentile ${frames[285].toFixed(1)} ms`);
    assert.ok(rows < 60, `${rows} rows`);
    for (const [index, rows] of [['', ITEMS], ['by-team', ENTRIES]]) {
      await page.getByLabel('Show').selectOption(index);
      await page.locator('.grid tbody tr').nth(5).waitFor();
      for (const at of [0.5, 0.99, 0.1, 1]) {
        const { reads, wait } = await jump(page, Math.floor(at * ITEMS));
        console.log(`# ${index || 'table'}: rows at ${at * 100}% of 100,000 are there after ${wait.toFixed(0)} ms and ${reads} reads`);
        assert.ok(reads <= 5, `${reads} reads`);
      }
      // The last row is the last item.
      const { items } = await (await fetch(`${server.address}/_dynatwin/tables/Large/items?skip=${rows - 1}&index=${index}`.replace(/&index=$/, ''))).json();
      assert.equal(items.length, 1);
      const texts = Object.values(items[0].key).map((value) => Object.values(value)[0]);
      for (const text of texts) await page.locator('.grid tbody tr:last-child td', { hasText: text }).first().waitFor();
    }
    await page.getByLabel('Show').selectOption('');
    await jump(page, ITEMS);
    const back = await scroll(page, -9_000);
    assert.ok(back.rows < 60, `${back.rows} rows`);
    quiet(page);
  } finally {
    await chromium.close();
    server.stop();
  }
});
