// The playground in a real Chromium, with the engine in the tab.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { after, afterEach, before, test } from 'node:test';
import { browser, choose, clock, manageTable, pause, printed, quiet, run, stable, state, violations } from './browser.js';
import { fileOf } from './serve.js';

const GUIDE = readFileSync(new URL('../../examples/node-guide/app.mjs', import.meta.url), 'utf8');

const MODEL = fileURLToPath(new URL('../../harness/seed/tests/data/workbench.json', import.meta.url));

let chromium;
let page;

before(async () => {
  chromium = await browser();
});
after(() => chromium?.close());
afterEach(async () => {
  const open = page;
  page = undefined;
  try {
    if (open) quiet(open);
  } finally {
    await open?.context().close();
  }
});

const tab = (name) => page.getByRole('tab', { name, exact: true }).click();
const rows = () => page.locator('.grid tbody tr:not([aria-hidden])');

test('it opens running, and requests, lags and throttles show', async () => {
  page = await chromium.open({ motion: 'no-preference' });
  await page.locator('.table-box', { hasText: 'Shop' }).waitFor();
  await page.locator('.requests [data-failed="true"]').first().waitFor({ timeout: 20_000 });
  await page.locator('.follower', { hasText: 'on the way' }).waitFor();
  await page.locator('.ttl .chips li').first().waitFor();
  assert.equal(await page.locator('.partition').count(), 4);
  await stable(page);
});

test('the guide’s application runs unchanged, and eight days later its session is gone', async () => {
  page = await chromium.open();
  await run(page, GUIDE);
  await printed(page, 'counted three requests');
  await state(page, 'ended');
  await tab('Items');
  const session = page.locator('.grid tr', { hasText: 'SESSION#' });
  await session.waitFor();
  await page.getByRole('button', { name: '+1 week', exact: true }).click();
  await page.getByRole('button', { name: '+1 day', exact: true }).click();
  await session.waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.getElementById('clock').textContent.startsWith('2026-01-09 '));
});

test('a table that is missing is offered with the keys that the code uses', async () => {
  page = await chromium.open();
  await run(
    page,
    `import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
const TABLE_NAME = process.env.TABLE_NAME ?? "Tasks";
const db = DynamoDBDocumentClient.from(new DynamoDBClient({ region: process.env.AWS_REGION ?? "us-west-2" }));
async function main() {
  const Item = { PK: "USER#masa", SK: \`SESSION#\${Date.now()}\`, expiresAt: Math.floor(Date.now() / 1000) + 7 * 86400 };
  await db.send(new PutCommand({ TableName: TABLE_NAME, Item, ConditionExpression: "attribute_not_exists(PK) AND attribute_not_exists(SK)" }));
  console.log("stored");
}
main().catch((error) => {
  console.error(error);
  process.exit(1);
});`,
  );
  await page.locator('.offer', { hasText: 'PK, SK' }).waitFor({ timeout: 20_000 });
  await page.getByRole('button', { name: 'Create Tasks and run again' }).click();
  await printed(page, 'stored');
});

test('an endless loop ends within a second or so, with a message', async () => {
  page = await chromium.open();
  await run(page, 'console.log("before");\nwhile (true) {}');
  await printed(page, 'Is there an endless loop?');
  await run(page, 'console.log("the page goes on");');
  await printed(page, 'the page goes on');
});

test('time, randomness and network of the code are the emulator’s', async () => {
  page = await chromium.open();
  await run(
    page,
    `console.log("now", new Date().toISOString(), typeof Date(), Math.random() < 1);
const before = Date.now();
await new Promise((done) => setTimeout(done, 86_400_000));
console.log("slept", Date.now() - before, performance.now());
const reply = await fetch("http://localhost:8000/_dynatwin/clock");
console.log("status", reply.status, (await reply.json()).settable);
await fetch("https://example.com/").catch((error) => console.log("refused:", error.message));`,
  );
  await printed(page, 'now 2026-01-01T00:00:00.000Z string true');
  await page.getByRole('button', { name: '+1 day', exact: true }).click();
  await printed(page, 'slept 86400000 86400000');
  await printed(page, 'status 200 true');
  await printed(page, 'refused: Code in the playground reaches the emulator alone');
});

test('each run has client tokens of its own', async () => {
  page = await chromium.open();
  await run(
    page,
    `import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
const client = new DynamoDBClient({});
const db = DynamoDBDocumentClient.from(client);
const TableName = "Accounts";
await client.send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST", KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }],
  AttributeDefinitions: [{ AttributeName: "PK", AttributeType: "S" }],
})).catch((error) => console.log(error.name));
const Update = { TableName, Key: { PK: "a" }, UpdateExpression: "ADD balance :n", ExpressionAttributeValues: { ":n": 1 } };
await db.send(new TransactWriteCommand({ TransactItems: [{ Update }] }));
console.log("balance", (await db.send(new GetCommand({ TableName, Key: { PK: "a" } }))).Item.balance);`,
  );
  await printed(page, 'balance 1');
  await state(page, 'ended');
  await page.getByRole('button', { name: 'Run again', exact: true }).click();
  await printed(page, 'balance 2');
});

test('a shared link gives the same event log in a fresh profile', async () => {
  page = await chromium.open();
  await page.locator('.requests li').nth(12).waitFor({ timeout: 20_000 });
  await pause(page);
  await tab('Conditions');
  await page.locator('.presets label', { hasText: 'storm' }).click();
  await page.getByRole('button', { name: '+1 min', exact: true }).click();
  await page.getByText('Time is moving…').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Share' }).click();
  const read = async (from) => {
    await from.locator('#digest', { hasText: /^[0-9a-f]{12}$/ }).waitFor({ timeout: 30_000 });
    return from.locator('#digest').textContent();
  };
  const digest = await read(page);
  const link = await page.getByLabel('Link', { exact: true }).inputValue();
  const time = await clock(page);
  const other = await chromium.open({ path: `#${link.split('#')[1]}` });
  await other.waitForFunction((wanted) => document.getElementById('clock').textContent === wanted, time, { timeout: 30_000 });
  await other.getByRole('button', { name: 'Share' }).click();
  assert.equal(await read(other), digest);
  quiet(other);
  await other.context().close();
});

test('a reload keeps what was there', async () => {
  page = await chromium.open();
  await run(page, GUIDE);
  await state(page, 'ended');
  await page.getByRole('button', { name: '+1 day', exact: true }).click();
  await page.waitForFunction(() => document.getElementById('clock').textContent.startsWith('2026-01-02'));
  await page.waitForTimeout(600); // the session is written a moment later
  await page.reload();
  await page.waitForFunction(() => document.getElementById('clock').textContent.startsWith('2026-01-02'), undefined, { timeout: 20_000 });
  await tab('Items');
  await page.locator('.grid tr', { hasText: 'SESSION#' }).waitFor();
});

test('replicas of a global table lag, pause, and show the writes that were lost', async () => {
  page = await chromium.open();
  await choose(page, 'A table in two regions');
  await page.locator('.table-box', { hasText: 'us-east-1' }).waitFor();
  const replica = page.locator('.follower', { hasText: 'eu-west-1' });
  await replica.getByText('on the way').waitFor({ timeout: 20_000 });
  await page.getByLabel('Writes that were lost, the latest first').locator('li', { hasText: 'lost to' }).first().waitFor({ timeout: 20_000 });
  await replica.getByRole('button', { name: 'Pause replication with eu-west-1' }).click();
  await replica.getByText(/Paused: \d+ to there, \d+ to here/).waitFor({ timeout: 20_000 });
  await pause(page);
  await replica.getByRole('button', { name: 'Resume replication with eu-west-1' }).click();
  await page.getByRole('button', { name: '+1 min', exact: true }).click();
  await page.getByText('Time is moving…').waitFor({ state: 'detached' });
  await replica.getByRole('button', { name: 'eu-west-1', exact: true }).click();
  await page.locator('.table-box', { hasText: 'eu-west-1' }).waitFor();
  await page.locator('.follower', { hasText: 'us-east-1' }).waitFor();
  // A request whose write was replaced says so.
  const first = page.locator('.requests button', { hasText: 'CART#0' });
  await page.getByLabel('Filter requests').fill('PutItem CART#0');
  await page.getByLabel('Filter requests').fill('CART#');
  await first.first().waitFor({ state: 'attached' });
  const lost = await page.evaluate(async () => {
    for (const button of document.querySelectorAll('.requests button')) {
      button.click();
      await new Promise((done) => setTimeout(done, 60));
      if (document.querySelector('.details')?.textContent.includes('was lost later')) return true;
    }
    return false;
  });
  assert.ok(lost, 'the request whose write was lost is explained');
  assert.deepEqual(await violations(page), []);
});

test('a table is created, filled from a file, exported, emptied and deleted', async () => {
  page = await chromium.open();
  await pause(page);
  await tab('Tables');
  await manageTable(page);
});

test('items are edited with the service’s own validation, and changes are taken back', async () => {
  page = await chromium.open();
  await run(page, GUIDE);
  await state(page, 'ended');
  await tab('Items');
  await page.getByRole('button', { name: 'Add item' }).click();
  const field = page.getByLabel('Item as JSON');
  await field.fill('{"PK": "USER#eve"}');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('dialog .trouble', { hasText: 'ValidationException: One or more parameter values were invalid: Missing the key SK in the item' }).waitFor();
  await field.fill('{"PK": "USER#eve", "SK": "PROFILE", "age": 41}');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('.grid tr', { hasText: 'USER#eve' }).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.locator('.grid tr', { hasText: 'USER#eve' }).waitFor({ state: 'detached' });
});

test('code and requests are copied for Node, Vitest, Python and the command line', async () => {
  page = await chromium.open();
  await run(page, GUIDE);
  await state(page, 'ended');
  const wanted = { Node: '// Against a Dynatwin server on this machine', Vitest: 'import { expect, test } from "vitest"', Python: 'dynamodb.put_item(', CLI: 'aws dynamodb put-item' };
  for (const [kind, text] of Object.entries(wanted)) {
    await page.getByLabel('Copy as').selectOption(kind);
    await page.getByText(`Copied as ${kind}`).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(copied.includes(text), `${kind}: ${copied}`);
  }
});

test('a newcomer finds out why a filter costs so much', async () => {
  page = await chromium.open();
  await tab('Conditions');
  await tab('PartiQL');
  await choose(page, 'Why does my filter cost so much?');
  // The lesson runs to its end by itself, and its expensive request is explained.
  const details = page.locator('.details');
  await details.waitFor();
  await page.evaluate(() => globalThis.resetShift());
  await details.getByText('5 returned of 500 read and paid for').waitFor({ timeout: 20_000 });
  await details.getByText('The filter discarded 495 items after they were read').waitFor();
  assert.equal(await page.locator('.requests button', { hasText: 'Scan' }).count(), 1);
  await details.getByText('from 4 partitions').waitFor();
  await details.getByText('A Query of index by-status with status in its key condition').waitFor();
  await details.getByRole('button', { name: 'Try it' }).click();
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.answer', { hasText: '"ScannedCount": 5' }).waitFor();
  await page.getByLabel('costliest first').check();
  await page.locator('.requests button', { hasText: 'Scan' }).first().waitFor();
  await stable(page);
});

test('an expression shows its parts, its fault, and what it gives for items', async () => {
  page = await chromium.open();
  await choose(page, 'Why does my filter cost so much?');
  await page.locator('.details summary', { hasText: 'FilterExpression' }).click();
  await page.getByRole('button', { name: 'Evaluate for items' }).click();
  await page.locator('.tree li', { hasText: '#s is status' }).waitFor();
  const text = page.getByLabel('Expression', { exact: true });
  await text.fill('#s = :open AND size(note) > :limit');
  await page.locator('.fault mark', { hasText: ':limit' }).waitFor();
  await page.locator('.fault', { hasText: 'attribute value: :limit' }).waitFor();
  await page.getByLabel('Values').fill('{":open": {"S": "OPEN"}, ":limit": {"N": "100"}}');
  await page.locator('.tree li[data-holds="true"]', { hasText: '>' }).waitFor();
  await page.locator('.tree li[data-holds="false"]', { hasText: '=' }).waitFor();
  await page.getByText('True for 0 of the first 20 items').waitFor();
  await text.fill('#s = = :open');
  await page.locator('.fault', { hasText: 'Syntax error; token: "="' }).waitFor();
  await page.getByLabel('Names').fill('{');
  await page.getByText('Names and values are JSON').waitFor();
});

test('tables come from files and go into files, and stay after a reload', async () => {
  page = await chromium.open();
  await pause(page);
  const open = async (file) => {
    await page.getByRole('button', { name: 'Share' }).click();
    await page.getByLabel('Open a file').setInputFiles(file);
    await page.locator('dialog').waitFor({ state: 'detached' });
  };
  const save = async (name) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
    const bytes = readFileSync(await download.path());
    return { name: download.suggestedFilename(), mimeType: 'application/octet-stream', buffer: bytes };
  };
  await open(MODEL);
  await page.locator('.output li', { hasText: 'Created Employee.' }).waitFor();
  await tab('Items');
  await page.locator('.grid tr', { hasText: 'marthar' }).waitFor();

  await page.getByRole('button', { name: 'Share' }).click();
  const saved = await save('Save data model');
  const wanted = JSON.parse(readFileSync(MODEL, 'utf8')).DataModel[0];
  const employee = JSON.parse(saved.buffer).DataModel.find(({ TableName }) => TableName === 'Employee');
  for (const member of ['KeyAttributes', 'GlobalSecondaryIndexes', 'BillingMode']) assert.deepEqual(employee[member], wanted[member]);
  assert.deepEqual(new Set(employee.TableData.map(({ LoginAlias }) => LoginAlias.S)), new Set(['johns', 'marthar']));
  const snapshot = await save('Save tables');
  await page.getByRole('button', { name: 'Close' }).click();

  await page.waitForTimeout(600); // the session is written a moment later
  await page.reload();
  await tab('Items');
  await page.locator('.items select').first().selectOption('Employee');
  await page.locator('.grid tr', { hasText: 'marthar' }).waitFor();

  await choose(page, 'A task board');
  await printed(page, 'counted three requests');
  await open(snapshot);
  await page.locator('.items select').first().selectOption('Employee');
  await page.locator('.grid tr', { hasText: 'johns' }).waitFor();
});

test('focus survives refreshes', async () => {
  page = await chromium.open();
  await page.locator('.requests li').nth(5).waitFor({ timeout: 20_000 });
  await page.getByLabel('Filter requests').focus();
  await page.keyboard.type('Put');
  const time = await clock(page);
  await page.waitForFunction((before) => document.getElementById('clock').textContent !== before, time);
  await page.keyboard.type('Item');
  assert.equal(await page.getByLabel('Filter requests').inputValue(), 'PutItem');
  const number = await page.locator('.requests button').nth(3).evaluate((button) => (button.focus(), button.dataset.number));
  const later = await clock(page);
  await page.waitForFunction((before) => document.getElementById('clock').textContent !== before, later);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.number), number);
});

test('axe finds nothing, in both themes and on every tab', async () => {
  for (const colorScheme of ['light', 'dark']) {
    await page?.context().close();
    page = await chromium.open({ colorScheme });
    await page.locator('.requests li').nth(5).waitFor({ timeout: 20_000 });
    await pause(page);
    assert.deepEqual(await violations(page), [], colorScheme);
    for (const name of ['Tables', 'Items', 'Query', 'Expressions', 'Conditions', 'PartiQL', 'Request']) {
      await tab(name);
      assert.deepEqual(await violations(page), [], `${name}, ${colorScheme}`);
    }
    await page.getByRole('button', { name: 'Share' }).click();
    await page.locator('#digest', { hasText: /^[0-9a-f]{12}$/ }).waitFor();
    assert.deepEqual(await violations(page), [], `share, ${colorScheme}`);
  }
});

test('a narrow screen needs no scrolling sideways', async () => {
  page = await chromium.open({ viewport: { width: 360, height: 740 } });
  await page.locator('.requests li').nth(3).waitFor({ timeout: 20_000 });
  for (const name of ['Tables', 'Items', 'Query', 'Expressions', 'Conditions', 'PartiQL', 'Request', 'Requests']) {
    await tab(name);
    const [width, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    assert.ok(width <= seen, `${name}: ${width} of ${seen} pixels`);
  }
});

test('opened as a file it says what to do', async () => {
  page = await chromium.open();
  const file = await page.context().newPage();
  await file.goto(pathToFileURL(fileOf(chromium.base)).href);
  await file.getByText('This page was opened as a file').waitFor();
  await file.close();
});

test('it works offline after it was loaded once', async () => {
  page = await chromium.open();
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.locator('.requests li').nth(8).waitFor({ timeout: 20_000 });
  await page.waitForTimeout(600); // the session is written a moment later
  await page.context().setOffline(true);
  const again = await chromium.open({ context: page.context() });
  await again.locator('.requests li').nth(3).waitFor({ timeout: 20_000 });
  await again.close();
});
