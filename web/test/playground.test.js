// The playground in a real Chromium, with the engine in the tab.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { after, afterEach, before, test } from 'node:test';
import { browser, choose, clock, manageTable, pause, printed, quiet, run, stable, state, violations, write } from './browser.js';
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

test('the first ten seconds show requests, an index that lags, expired items, an empty bucket and a throttle', async () => {
  page = await chromium.open({ motion: 'no-preference' });
  await page.locator('.table-box', { hasText: 'Shop' }).waitFor();
  await page.locator('.follower', { hasText: 'on the way' }).waitFor();
  await page.locator('.bucket.write[data-low="true"]').waitFor();
  await page.locator('.requests [data-failed="true"]').first().waitFor({ timeout: 20_000 });
  await page.locator('.ttl .chips li', { hasText: /USER#\d \/ BASKET#\d+ deleted in/ }).first().waitFor();
  await page.locator('.ttl', { hasText: /[1-9]\d* of \d+ items expired, not deleted yet/ }).waitFor();
  assert.ok((await clock(page)) <= '2026-01-01 00:00:10', await clock(page));
  assert.equal(await page.locator('.partition').count(), 4);
  await stable(page);
});

test('time that is paused as soon as the page is there stays paused', async () => {
  page = await chromium.open();
  await pause(page);
  await page.waitForFunction(() => performance.getEntriesByName('interactive').length > 0);
  await page.getByRole('button', { name: 'Play time' }).waitFor({ timeout: 2_000 });
});

test('the stage is empty after the animation has ended', async () => {
  page = await chromium.open({ motion: 'no-preference' });
  await run(
    page,
    `import { CreateTableCommand, DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
const client = new DynamoDBClient({ maxAttempts: 1 });
const key = [{ AttributeName: "PK", KeyType: "HASH" }];
await client.send(new CreateTableCommand({ TableName: "Small", BillingMode: "PAY_PER_REQUEST", OnDemandThroughput: { MaxWriteRequestUnits: 1 }, KeySchema: key, AttributeDefinitions: [{ AttributeName: "PK", AttributeType: "S" }] }));
await new Promise((done) => setTimeout(done, 1_000));
for (let n = 0; n < 9; n++) await client.send(new PutItemCommand({ TableName: "Small", Item: { PK: { S: String(n) } } })).catch(() => console.log("throttled"));`,
  );
  await printed(page, 'throttled');
  await state(page, 'ended');
  await pause(page);
  await page.waitForFunction(() => {
    const canvas = document.querySelector('.stage-body canvas');
    const blank = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
    return canvas.toDataURL() === blank.toDataURL();
  });
});

test('the guide’s application runs unchanged, and its session is deleted after eight days', async () => {
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

test('an endless loop ends within a second or so, and require is explained', async () => {
  page = await chromium.open();
  await run(page, 'console.log("before");\nwhile (true) {}');
  await printed(page, 'Is there an endless loop?');
  await run(page, 'console.log("the page goes on");');
  await printed(page, 'the page goes on');
  await run(page, 'const { DynamoDBClient } = require("@aws-sdk/client-dynamodb");');
  await printed(page, 'Instead of require, write for example: import');
});

/** Code that fails, and what is printed. */
const FAILURES = [
  ['const a = 1;\nconst b = ;', "SyntaxError: Unexpected token ';' at line 2"],
  ['const a = 1;\n\nconst a = 2;', "SyntaxError: Identifier 'a' has already been declared at line 3"],
  ['const a = 1;\n"never closed', 'SyntaxError: Invalid or unexpected token at line 2'],
  ['import {\n  nope,\n} from "node:util";', "does not provide an export named 'nope' at line 2"],
  ['\nundefined.first;', "TypeError: Cannot read properties of undefined (reading 'first') at line 2"],
  ['const later = async () => {\n  throw new RangeError("no");\n};\nawait later();', 'RangeError: no at line 2'],
  ['setTimeout(() => {\n  nope();\n}, 1);', 'ReferenceError: nope is not defined at line 2'],
  ['import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";\nconst client = new DynamoDBClient({});\nawait client.send(new ListTablesCommand({ Limit: 0 }));', /ValidationException: .*at line 3$/s],
];

test('the message of code that fails ends in its line', async () => {
  page = await chromium.open();
  for (const [code, message] of FAILURES) {
    await run(page, code);
    await printed(page, message);
  }
});

test('the code uses the emulator’s time, randomness and network', async () => {
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

test('a long way of the clock says where it ends, and can be ended, with those that wait for it', async () => {
  page = await chromium.open();
  await run(page, 'for (let n = 0; ; n++) await new Promise((done) => setTimeout(done, 1));');
  for (const step of ['+1 week', '+1 day']) await page.getByRole('button', { name: step, exact: true }).click();
  await page.locator('.next', { hasText: 'Time is moving… to 2026-01-08 ' }).waitFor();
  await page.getByRole('button', { name: 'Pause time' }).click();
  await page.getByRole('button', { name: 'Play time' }).waitFor();
  const paused = await clock(page);
  // The next act follows all moves.
  await tab('Conditions');
  await page.locator('.presets label', { hasText: 'storm' }).click();
  await page.locator('.presets label[data-checked="true"]', { hasText: 'storm' }).waitFor();
  assert.equal(await clock(page), paused);
  assert.ok(paused < '2026-01-08', paused);
});

test('an hour of the opening example passes in seconds', async () => {
  page = await chromium.open();
  await pause(page);
  await page.getByRole('button', { name: '+1 h', exact: true }).click();
  await page.waitForFunction(() => document.getElementById('clock').textContent.startsWith('2026-01-01 01:00:00'), undefined, { timeout: 60_000 });
  await printed(page, 'Finished.');
  await page.locator('.table-box', { hasText: '0 items' }).waitFor();
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

test('the session of a link becomes the user’s own, and a damaged link is reported', async () => {
  page = await chromium.open();
  await run(page, 'console.log("shared");');
  await state(page, 'ended');
  await page.getByRole('button', { name: 'Share' }).click();
  await page.locator('#digest', { hasText: /^[0-9a-f]{12}$/ }).waitFor();
  const fragment = new URL(await page.getByLabel('Link', { exact: true }).inputValue()).hash;
  const other = await chromium.open({ path: fragment });
  await printed(other, 'shared');
  await printed(other, 'This is the session of the link you followed');
  assert.equal(new URL(other.url()).hash, '');
  await run(other, 'console.log("changed");');
  await printed(other, 'changed');
  await other.waitForTimeout(600); // the session is written a moment later
  await other.reload();
  await printed(other, 'changed');

  // A link that is opened while the page starts.
  await other.reload();
  await other.evaluate((hash) => (location.hash = hash), fragment);
  await printed(other, 'This is the session of the link you followed');
  assert.equal(new URL(other.url()).hash, '');

  // A link that is opened in this tab, whole and damaged.
  await other.evaluate((hash) => (location.hash = hash), fragment);
  await printed(other, 'shared');
  await other.evaluate((hash) => (location.hash = hash), fragment.slice(0, -9));
  await printed(other, 'The link cannot be read');
  const damaged = await chromium.open({ path: fragment.slice(0, -9), context: page.context() });
  await printed(damaged, 'The link cannot be read');
  for (const one of [other, damaged]) quiet(one);
  await other.context().close();
});

test('a reload keeps the session', async () => {
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

test('a reload keeps code that was not run', async () => {
  page = await chromium.open();
  await page.getByRole('button', { name: 'Pause time' }).click();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.waitForTimeout(600); // the session is written a moment later
  await write(page, '// not run yet');
  await page.waitForTimeout(600);
  await page.reload();
  await page.locator('.code-pane .editor', { hasText: '// not run yet' }).waitFor();
});

test('a reload keeps the open panel and the selected table, which links do not have', async () => {
  page = await chromium.open();
  await run(
    page,
    `import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
const client = new DynamoDBClient({});
const key = [{ AttributeName: "id", KeyType: "HASH" }];
for (const TableName of ["Orders", "Users"]) await client.send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST", KeySchema: key, AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
}));`,
  );
  await state(page, 'ended');
  await pause(page);
  const shown = async (from, panel, table) => {
    await from.getByRole('tab', { name: panel, exact: true, selected: true }).waitFor();
    await from.locator('.table-box', { hasText: table }).waitFor();
  };
  await shown(page, 'Requests', 'Orders');
  await page.getByRole('region', { name: 'Stage' }).locator('label', { hasText: /^Table/ }).locator('select').selectOption({ label: 'Users' });
  await tab('Items');
  await page.waitForTimeout(600); // the session is written a moment later
  await page.reload();
  await shown(page, 'Items', 'Users');
  await page.getByRole('button', { name: 'Share' }).click();
  await page.locator('#digest', { hasText: /^[0-9a-f]{12}$/ }).waitFor();
  const link = await page.getByLabel('Link', { exact: true }).inputValue();
  const other = await chromium.open({ path: new URL(link).hash });
  await shown(other, 'Requests', 'Orders');
  quiet(other);
  await other.context().close();
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
  // A request whose write was replaced is marked.
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

  // Attributes named as types are written in plain JSON too.
  await page.getByRole('button', { name: 'Add item' }).click();
  await field.fill('{"PK": "USER#eve", "SK": "SIZES", "N": 5, "by": {"S": 1}, "of": {"N": 38}}');
  const form = page.getByRole('checkbox', { name: 'DynamoDB JSON' });
  await form.check();
  const typed = page.getByLabel('Item as DynamoDB JSON');
  assert.deepEqual(JSON.parse(await typed.inputValue()), { PK: { S: 'USER#eve' }, SK: { S: 'SIZES' }, N: { N: '5' }, by: { M: { S: { N: '1' } } }, of: { M: { N: { N: '38' } } } });
  await typed.fill('{"PK": "USER#eve"}');
  await form.click();
  await page.locator('dialog .trouble', { hasText: 'This is not DynamoDB JSON: a value lacks its type.' }).waitFor();
  await form.click();
  assert.ok(await form.isChecked());
  assert.deepEqual(await violations(page), []);
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

test('the cost of a filter is explained', async () => {
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

test('queries are built from fields, and items are edited where they are found', async () => {
  page = await chromium.open();
  await choose(page, 'Why does my filter cost so much?');
  await page.locator('.details').getByText('5 returned of 500 read and paid for').waitFor({ timeout: 20_000 });
  await tab('Query');
  const filter = async (at, name, operator, value, type = '') => {
    await page.getByLabel('Attribute to filter by').nth(at).fill(name);
    await page.getByLabel('Operator of the filter').nth(at).selectOption(operator);
    if (value === undefined) return;
    await page.getByLabel('Value to filter for').nth(at).fill(value);
    await page.getByLabel('Type of the value').nth(at).selectOption(type);
  };
  const finds = async (operation, text) => {
    await page.getByRole('button', { name: operation, exact: true }).click();
    await page.locator('.result-line', { hasText: text }).waitFor();
  };
  await filter(0, 'status', '<>', 'DONE');
  await finds('Scan', '5 items returned, 500 read');
  await page.getByLabel('PK =').fill('CUSTOMER#1');
  await finds('Query', '0 items returned, 10 read');
  await page.getByLabel('PK =').fill('CUSTOMER#0');
  await finds('Query', '5 items returned, 10 read');
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await filter(1, 'paid', 'exists');
  await finds('Query', '0 items returned, 10 read');

  await filter(1, 'note', 'begins_with', 'x');
  await finds('Query', '5 items returned, 10 read');
  await page.locator('.grid').getByRole('button', { name: 'CUSTOMER#0' }).first().click();
  await page.getByLabel('Item as JSON').fill('{"PK": "CUSTOMER#0", "SK": "ORDER#0", "status": "OPEN", "paid": {"amount": 42}}');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.locator('.result-line', { hasText: '4 items returned, 10 read' }).waitFor();
  await filter(1, 'paid.amount', '=', '42', 'S');
  await finds('Query', '0 items returned, 10 read');
  await filter(1, 'paid.amount', '=', '42');
  await finds('Query', '1 item returned, 10 read');

  // With another key it becomes a new item, with a notice.
  await page.locator('.grid').getByRole('button', { name: 'CUSTOMER#0' }).click();
  await page.getByLabel('Item as JSON').fill('{"PK": "CUSTOMER#0", "SK": "ORDER#x", "status": "OPEN", "paid": {"amount": 42}}');
  await page.getByRole('button', { name: 'Save as a new item' }).click();
  await page.locator('.result-line', { hasText: '2 items returned, 11 read' }).waitFor();
  assert.deepEqual(await violations(page), []);
});

/** Requests that go wrong or cost too much: what is said of each, and whether the request that is suggested works. */
const MISTAKES = [
  ['Scan', { FilterExpression: 'PK = :p', ExpressionAttributeValues: { ':p': { S: 'C#1' } } }, 'A Query of table Orders with PK in its key condition', 'sent'],
  ['Scan', { FilterExpression: 'PK = :p AND SK = :s', ExpressionAttributeValues: { ':p': { S: 'C#1' }, ':s': { S: 'ORDER#1' } } }, 'A GetItem with PK and SK reads this one item', 'sent'],
  ['Scan', {}, 'A Query with a partition key reads one item collection'],
  ['Scan', { Limit: 1, FilterExpression: 'note = :n', ExpressionAttributeValues: { ':n': { S: 'none' } } }, 'Limit counts the items that are read, before the filter'],
  ['Scan', { FilterExpression: '#s = :o', ExpressionAttributeNames: { '#s': 'status' }, ExpressionAttributeValues: { ':o': { S: 'OPEN' } } }, 'A Query of index by-status with status in its key condition', 'sent'],
  ['Scan', { FilterExpression: '#s IN (:o, :d)', ExpressionAttributeNames: { '#s': 'status' }, ExpressionAttributeValues: { ':o': { S: 'OPEN' }, ':d': { S: 'HELD' } } }, '2 Queries, one for each value, would read only the items with these values'],
  ['Scan', { FilterExpression: 'contains(note, :n)', ExpressionAttributeValues: { ':n': { S: 'x' } } }, 'No key or index helps contains'],
  ['Scan', { FilterExpression: 'note = :n', ExpressionAttributeValues: { ':n': { S: 'x' } } }, 'a global index on one of them would let a Query read fewer items'],
  ['Scan', { FilterExpression: 'amount = :n', ExpressionAttributeValues: { ':n': { S: '10' } } }, 'amount is of type N in the items, and is compared with a value of type S'],
  ['Scan', { Select: 'COUNT' }, 'Select: COUNT returns no items, and still reads and pays'],
  ['Query', { KeyConditionExpression: 'PK = :p', FilterExpression: '#s = :o', ExpressionAttributeNames: { '#s': 'status' }, ExpressionAttributeValues: { ':p': { S: 'C#0' }, ':o': { S: 'OPEN' } } }, '"FilterExpression": "PK = :p"', 'sent'],
  ['Query', { IndexName: 'by-city', KeyConditionExpression: 'city = :c', ExpressionAttributeValues: { ':c': { S: 'Bern' } } }, 'Index by-city projects only keys'],
  ['Query', { KeyConditionExpression: 'PK = :p', FilterExpression: 'SK = :s', ExpressionAttributeValues: { ':p': { S: 'C#1' }, ':s': { S: 'ORDER#1' } } }, 'SK is a key, so its condition belongs into KeyConditionExpression'],
  ['Query', { KeyConditionExpression: 'city = :c', ExpressionAttributeValues: { ':c': { S: 'Bern' } } }, 'the partition key of index by-city: name it in IndexName', 'sent'],
  ['Query', { KeyConditionExpression: 'begins_with(PK, :p)', ExpressionAttributeValues: { ':p': { S: 'C' } } }, 'A key condition compares PK by = with one value, and SK once by'],
  ['Query', { KeyConditionExpression: 'PK = :p', ExpressionAttributeValues: { ':p': { N: '1' } } }, 'another type than its key: PK (S) and SK (S)'],
  ['Query', { IndexName: 'by-city', KeyConditionExpression: 'city = :c', FilterExpression: 'note = :n', ExpressionAttributeValues: { ':c': { S: 'Bern' }, ':n': { S: 'x' } } }, 'Index by-city has only the attributes that it projects'],
  ['Query', { IndexName: 'by-city', ConsistentRead: true, KeyConditionExpression: 'city = :c', ExpressionAttributeValues: { ':c': { S: 'Bern' } } }, 'A global index follows its table with a lag', 'sent'],
  ['Scan', { FilterExpression: 'status = :o', ExpressionAttributeValues: { ':o': { S: 'OPEN' } } }, 'status is a word of the expression language', 'sent'],
  ['Scan', { FilterExpression: 'begins_with(amount, :n)', ExpressionAttributeValues: { ':n': { N: '1' } } }, 'begins_with compares the beginning of strings and binary values'],
  ['Scan', { FilterExpression: 'city = :c', ExpressionAttributeNames: { '#s': 'status' }, ExpressionAttributeValues: { ':c': { S: 'Bern' } } }, 'Nothing uses #s', 'sent'],
  ['Scan', { FilterExpression: 'city = :c', ExpressionAttributeValues: { ':c': { S: 'Bern' }, ':d': { S: 'x' } } }, 'Nothing uses :d', 'sent'],
  ['Scan', { FilterExpression: 'city = :c' }, 'Add :c to ExpressionAttributeValues'],
  ['Scan', { FilterExpression: 'city = "Bern"' }, 'An expression has no literals'],
  ['GetItem', { Key: { PK: { S: 'C#1' } } }, 'A key consists of exactly PK (S) and SK (S)'],
  ['UpdateItem', { Key: { PK: { S: 'C#1' }, SK: { S: 'ORDER#1' } }, UpdateExpression: 'SET SK = :s', ExpressionAttributeValues: { ':s': { S: 'x' } } }, 'The key of an item cannot change'],
  ['PutItem', { Item: { PK: { M: { S: { S: 'C#1' } } }, SK: { S: 'x' } } }, 'an item in DynamoDB JSON that the document client has converted once more'],
  ['PutItem', { Item: { PK: { S: '' }, SK: { S: 'x' } } }, 'PK is a key, and keys cannot be empty'],
  ['Query', { TableName: 'Order', KeyConditionExpression: 'PK = :p', ExpressionAttributeValues: { ':p': { S: 'C#1' } } }, 'There is no table Order in the region and account', 'sent'],
  ['ExecuteStatement', { TableName: undefined, Statement: `SELECT * FROM "Orders" WHERE status = 'OPEN'` }, 'FROM \\"Orders\\".\\"by-status\\"', 'sent'],
];

test('typical mistakes are explained, and the requests that are suggested work', async () => {
  page = await chromium.open();
  await run(
    page,
    `import * as dynamodb from "@aws-sdk/client-dynamodb";
const client = new dynamodb.DynamoDBClient({});
const key = (...names) => names.map((AttributeName, at) => ({ AttributeName, KeyType: at ? "RANGE" : "HASH" }));
await client.send(new dynamodb.CreateTableCommand({
  TableName: "Orders", BillingMode: "PAY_PER_REQUEST", KeySchema: key("PK", "SK"),
  AttributeDefinitions: ["PK", "SK", "status", "city"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
  GlobalSecondaryIndexes: [
    { IndexName: "by-status", KeySchema: key("status", "SK"), Projection: { ProjectionType: "ALL" } },
    { IndexName: "by-city", KeySchema: key("city"), Projection: { ProjectionType: "KEYS_ONLY" } },
  ],
}));
for (let n = 0; n < 60; n++) await client.send(new dynamodb.PutItemCommand({ TableName: "Orders", Item: {
  PK: { S: "C#" + n % 6 }, SK: { S: "ORDER#" + n }, status: { S: n % 20 ? "DONE" : "OPEN" }, city: { S: n % 3 ? "Bern" : "Basel" }, amount: { N: String(n) },
} }));
for (const [operation, body] of ${JSON.stringify(MISTAKES)}) {
  const table = operation === "ExecuteStatement" ? {} : { TableName: "Orders" };
  await client.send(new dynamodb[operation + "Command"]({ ...table, ...body })).catch(() => {});
}`,
  );
  await state(page, 'ended');
  const first = 62;
  for (const [at, [operation, body, said, then]] of MISTAKES.entries()) {
    await page.locator(`.requests button[data-number="${first + at}"]`, { hasText: operation }).evaluate((row) => row.click());
    const details = page.locator(`.details[aria-label="Request ${first + at}"]`);
    await details.locator('.remarks', { hasText: said }).waitFor({ timeout: 10_000 }).catch(async () => assert.fail(`${JSON.stringify(body)}: “${said}” is not in ${await details.innerText()}`));
    if (then !== 'sent') continue;
    await details.getByRole('button', { name: 'Try it' }).first().click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.locator('.answer').waitFor();
    assert.equal(await page.locator('.answer').getAttribute('data-refused'), 'false', `${JSON.stringify(body)}: ${await page.locator('.answer').innerText()}`);
    await tab('Code');
  }
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

test('the index of a table is not used for another table', async () => {
  page = await chromium.open();
  await run(
    page,
    `import { CreateTableCommand, DynamoDBClient, PutItemCommand, QueryCommand } from "@aws-sdk/client-dynamodb";
const client = new DynamoDBClient({});
const create = (TableName, more, ...names) => client.send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST", KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
  AttributeDefinitions: ["id", ...names].map((AttributeName) => ({ AttributeName, AttributeType: "S" })), ...more,
}));
const byStatus = { IndexName: "by-status", KeySchema: [{ AttributeName: "status", KeyType: "HASH" }], Projection: { ProjectionType: "ALL" } };
await create("Orders", { GlobalSecondaryIndexes: [byStatus] }, "status");
await create("Users");
await client.send(new PutItemCommand({ TableName: "Orders", Item: { id: { S: "order-1" }, status: { S: "OPEN" } } }));
await client.send(new PutItemCommand({ TableName: "Users", Item: { id: { S: "user-1" } } }));
await new Promise((done) => setTimeout(done, 60_000));
await client.send(new QueryCommand({
  TableName: "Orders", IndexName: "by-status", KeyConditionExpression: "#s = :s", FilterExpression: "attribute_exists(id)",
  ExpressionAttributeNames: { "#s": "status" }, ExpressionAttributeValues: { ":s": { S: "OPEN" } },
}));
console.log("done");`,
  );
  await page.getByRole('button', { name: '+1 min', exact: true }).click();
  await printed(page, 'done');
  const table = (name) => page.getByRole('region', { name: 'Stage' }).locator('label', { hasText: /^Table/ }).locator('select').selectOption({ label: name });

  await page.locator('.requests button', { hasText: 'Query' }).click();
  await page.locator('.details summary', { hasText: 'FilterExpression' }).click();
  await page.getByRole('button', { name: 'Evaluate for items' }).last().click();
  await page.getByText('True for 1 of the first 1 items').waitFor();
  await table('Users');
  await page.getByRole('button', { name: 'user-1' }).waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);

  await tab('Items');
  await table('Orders');
  await page.getByLabel('Show').selectOption('by-status');
  await page.locator('.grid tr', { hasText: 'order-1' }).waitFor();
  await table('Users');
  await page.locator('.grid tr', { hasText: 'user-1' }).waitFor();
  await table('Orders');
  assert.equal(await page.getByLabel('Show').inputValue(), 'by-status');

  await tab('Query');
  await page.getByLabel(/^Index/).selectOption('by-status');
  await page.getByRole('button', { name: 'Scan', exact: true }).click();
  await page.locator('.result-line', { hasText: '1 item returned' }).waitFor();
  // Neither is the answer for one table shown for another.
  await table('Users');
  await page.locator('.result-line').waitFor({ state: 'detached', timeout: 5_000 });
  await table('Orders');
  await page.locator('.result-line', { hasText: '1 item returned' }).waitFor();
  await table('Users');
  await page.getByRole('button', { name: 'Scan', exact: true }).click();
  await page.locator('.grid').getByRole('button', { name: 'user-1' }).waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
});

test('tables are imported and exported, and stay after a reload', async () => {
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

test('by the keyboard alone, focus returns from a dialog to what opened it', async () => {
  page = await chromium.open();
  const focused = () => page.evaluate(() => document.activeElement?.textContent.trim());
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Skip to the stage');
  await pause(page);
  const opens = async (name, keys) => {
    await page.getByRole('button', { name, exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.locator('dialog').waitFor();
    // At no time does nothing have the focus.
    const returned = await page.evaluateHandle(() => {
      const removed = new Promise((done) => new MutationObserver(() => document.querySelector('dialog') ?? done()).observe(document.body, { childList: true, subtree: true }));
      return { name: removed.then(() => document.activeElement?.textContent.trim()) };
    });
    for (const key of keys) await page.keyboard.press(key);
    assert.equal(await returned.evaluate(({ name }) => name), name);
    await page.locator('dialog').waitFor({ state: 'detached' });
    assert.equal(await focused(), name);
  };
  await opens('Share', ['Enter']); // its first button closes it
  await opens('Share', ['Escape']);
  await page.getByRole('tab', { name: 'Requests', exact: true }).focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(await focused(), 'Tables');
  // The first field of a form has the focus.
  const field = () => page.evaluate(() => document.activeElement?.tagName);
  const typesInto = async (name, tag) => {
    await page.getByRole('button', { name, exact: true }).click();
    await page.locator('dialog').waitFor();
    assert.equal(await field(), tag, name);
    await page.keyboard.press('Escape');
  };
  await opens('Create table', ['Escape']);
  await typesInto('Create table', 'INPUT');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('ArrowRight');
  await opens('Add item', ['Escape']);
  await typesInto('Add item', 'TEXTAREA');
});

test('the stage makes room for tables and items', async () => {
  page = await chromium.open({ viewport: { width: 1280, height: 720 } });
  await tab('Items');
  await page.locator('.table-box', { hasText: /[2-9]\d items/ }).waitFor({ timeout: 20_000 });
  await pause(page);
  await rows().nth(2).waitFor();
  const before = await rows().count();
  await page.getByRole('button', { name: 'Hide', exact: true }).click();
  await page.locator('.stage-body').waitFor({ state: 'detached' });
  await rows().nth(before).waitFor();
  await page.waitForTimeout(600); // the session is written a moment later
  await page.reload();
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.locator('.table-box', { hasText: 'Shop' }).waitFor();
});

test('axe reports no violation, in both themes and on every tab', async () => {
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

test('items of one partition key and expired items have enough contrast, in both themes', async () => {
  for (const colorScheme of ['light', 'dark']) {
    await page?.context().close();
    page = await chromium.open({ colorScheme });
    await run(
      page,
      `import { CreateTableCommand, DynamoDBClient, PutItemCommand, UpdateTimeToLiveCommand } from "@aws-sdk/client-dynamodb";
const client = new DynamoDBClient({});
const TableName = "Baskets";
await client.send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST", KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }, { AttributeName: "SK", KeyType: "RANGE" }],
  AttributeDefinitions: ["PK", "SK"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
}));
await new Promise((done) => setTimeout(done, 60_000));
await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { AttributeName: "until", Enabled: true } }));
for (let n = 0; n < 6; n++) await client.send(new PutItemCommand({ TableName, Item: { PK: { S: "USER#1" }, SK: { S: "BASKET#" + n }, until: { N: String(n % 2 ? 4e9 : Math.floor(Date.now() / 1000)) } } }));`,
    );
    await page.getByRole('button', { name: '+1 min', exact: true }).click();
    await state(page, 'ended');
    await pause(page);
    await tab('Items');
    await page.locator('.grid tr[data-first="false"][data-expired="true"]').first().waitFor();
    await page.locator('.grid tr[data-first="false"][data-expired="false"]').first().waitFor();
    assert.deepEqual(await violations(page), [], colorScheme);
  }
});

test('a narrow screen needs no scrolling sideways', async () => {
  page = await chromium.open({ viewport: { width: 360, height: 740 } });
  await page.locator('.requests li').nth(3).waitFor({ timeout: 20_000 });
  for (const name of ['Tables', 'Items', 'Query', 'Expressions', 'Conditions', 'PartiQL', 'Request', 'Requests']) {
    await tab(name);
    const [width, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    assert.ok(width <= seen, `${name}: ${width} of ${seen} pixels`);
    const clipped = await page.evaluate(() => [...document.querySelectorAll('.tab-body')].filter(({ clientWidth, scrollWidth }) => scrollWidth > clientWidth).length);
    assert.equal(clipped, 0, `${name}: a panel is wider than the screen`);
  }
});

test('opened as a file it explains what to do', async () => {
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
