// A session that is too long to be repeated after a reload.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browser, clock, pause, quiet, run } from '../browser.js';

test('a long session is restored from a snapshot', async () => {
  const chromium = await browser();
  const page = await chromium.open();
  await run(
    page,
    `import { CreateTableCommand, DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
const client = new DynamoDBClient({});
const key = [{ AttributeName: "PK", KeyType: "HASH" }];
await client.send(new CreateTableCommand({ TableName: "Many", BillingMode: "PAY_PER_REQUEST", KeySchema: key, AttributeDefinitions: [{ AttributeName: "PK", AttributeType: "S" }] }));
for (let n = 0; n < 3100; n++) await client.send(new PutItemCommand({ TableName: "Many", Item: { PK: { S: String(n) } } }));
console.log("stored");`,
  );
  await page.locator('.output li', { hasText: 'stored' }).waitFor({ timeout: 60_000 });
  await page.locator('.table-box', { hasText: '3,100 items' }).waitFor();
  await pause(page);
  await page.waitForTimeout(3_000); // snapshots are taken every few seconds
  const time = await clock(page);
  await page.reload();
  await page.locator('.output li', { hasText: 'are restored' }).waitFor();
  await page.locator('.table-box', { hasText: '3,100 items' }).waitFor();
  assert.ok((await clock(page)) <= time);
  quiet(page);
  await chromium.close();
});
