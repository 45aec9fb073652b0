// The same page as the console of a server, in a real Chromium.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { after, afterEach, before, test } from 'node:test';
import { start } from './dynatwin.js';
import { browser, manageTable, printed, quiet, run, state, violations, write } from './browser.js';

const GUIDE = readFileSync(new URL('../../examples/node-guide/app.mjs', import.meta.url), 'utf8');
let server;
let guarded;
let own;
let chromium;
let page;
/** The servers of one test. They end after its page is closed: the browser prints each request that fails. */
const started = [];
const startForTest = async (...flags) => {
  const one = await start(...flags);
  started.push(one);
  return one;
};
before(async () => {
  server = await start('--shared-db');
  guarded = await start('--shared-db', '--no-control');
  own = await start();
  chromium = await browser(`${server.address}/_dynatwin/ui/`);
});
after(async () => {
  await chromium?.close();
  server?.stop();
  guarded?.stop();
  own?.stop();
});
afterEach(async () => {
  const open = page;
  page = undefined;
  try {
    if (open) quiet(open);
  } finally {
    await open?.context().close();
    for (const one of started.splice(0)) void one.stop();
  }
});

test('the guide’s application runs against the server, and its session is deleted after eight days', async () => {
  page = await chromium.open();
  await run(page, GUIDE);
  await printed(page, 'counted three requests');
  await state(page, 'ended');
  await page.getByRole('tab', { name: 'Items', exact: true }).click();
  const session = page.locator('.grid tr', { hasText: 'SESSION#' });
  await session.waitFor();
  await page.getByRole('button', { name: '+1 week', exact: true }).click();
  await page.getByRole('button', { name: '+1 day', exact: true }).click();
  await session.waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.getElementById('clock').textContent.startsWith('2026-01-09 '));
  assert.deepEqual(await violations(page), []);
});

test('the SDK retries what it retries on AWS, though the server dates its answers by another clock', async () => {
  page = await chromium.open();
  await run(
    page,
    `import { CreateTableCommand, DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
const client = new DynamoDBClient({});
const TableName = "Once";
await client.send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST", KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }],
  AttributeDefinitions: [{ AttributeName: "PK", AttributeType: "S" }],
}));
const put = () => client.send(new PutItemCommand({ TableName, Item: { PK: { S: "a" } }, ConditionExpression: "attribute_not_exists(PK)" }));
await put();
await put().catch(({ name, $metadata }) => console.log(name, "after attempts:", $metadata.attempts));`,
  );
  await printed(page, 'ConditionalCheckFailedException after attempts: 1');
  // Chromium prints the request that the server refuses.
  page.trouble = page.trouble.filter((message) => !/status of 400 /.test(message));
});

test('tables and items are managed in the console', async () => {
  page = await chromium.open({ url: `${own.address}/_dynatwin/ui/` });
  await page.getByText('No tables yet.').first().waitFor();
  await manageTable(page);

  // Tables belong to an access key and a region; the form shows those of the new one.
  await page.getByRole('button', { name: 'Create table' }).click();
  const form = page.locator('dialog.create-table');
  await form.getByLabel('Name', { exact: true }).fill('Orders');
  await form.getByLabel('access key').fill('local');
  await form.getByLabel('region').fill('eu-central-1');
  await form.getByRole('button', { name: 'Add local index' }).click();
  await form.getByLabel('Name', { exact: true }).nth(1).fill('by-amount');
  await form.getByLabel('Sort key of index 1', { exact: true }).fill('amount');
  await form.getByLabel('Type of the sort key of index 1').selectOption('number');
  await form.getByLabel('Projection').selectOption('INCLUDE');
  await form.getByLabel('Projected attributes of index 1').fill('note, state');
  await form.getByRole('button', { name: 'Create table' }).click();
  await page.locator('.tables tr', { hasText: 'on demand · 1 index' }).waitFor();
  await page.locator('.tables tr', { hasText: 'Orders' }).getByRole('button', { name: /^Orders/ }).click();
  const item = async (text) => {
    await page.getByLabel('Item as JSON').fill(text);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
  };
  await page.getByRole('button', { name: 'Add item' }).click();
  await item('{"PK": "CUSTOMER#ada", "SK": "ORDER#1", "amount": 12.5}');
  await page.locator('.grid').getByRole('button', { name: 'CUSTOMER#ada' }).click();
  await item('{"PK": "CUSTOMER#ada", "SK": "ORDER#1", "amount": 13}');
  await page.locator('.grid td', { hasText: 'amount 13' }).waitFor();

  // PartiQL, as the owner of the selected table.
  await page.getByRole('tab', { name: 'PartiQL', exact: true }).click();
  await write(page, `SELECT amount FROM "Orders" WHERE PK = 'CUSTOMER#ada'`);
  await page.getByRole('button', { name: 'Run statement' }).click();
  await page.locator('.answer', { hasText: '"N": "13"' }).waitFor();

  await page.locator('.grid').getByRole('button', { name: 'CUSTOMER#ada' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.locator('.grid').getByText('No items.').waitFor();
});

test('the actions of a table are reachable, even if its name is long', async () => {
  const many = await startForTest('--shared-db');
  page = await chromium.open({ url: `${many.address}/_dynatwin/ui/` });
  const TableName = 'a-table-with-quite-a-long-name-for-the-sessions-of-an-application';
  await page.getByRole('tab', { name: 'Request', exact: true }).click();
  await page.getByLabel('Operation', { exact: true }).fill('CreateTable');
  await write(page, JSON.stringify({
    TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }], StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
  }));
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  const row = page.locator('.tables tr', { hasText: TableName });
  await row.waitFor();
  for (const width of [1440, 1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    const [button, panel] = await row.evaluate((element) => [element.querySelector('.actions').lastElementChild, element.closest('.grid')].map((one) => one.getBoundingClientRect().right));
    assert.ok(button <= panel, `at ${width} the last button ends at ${button}, and the panel at ${panel}`);
  }
});

test('when the server is started again, the console shows its tables', async () => {
  const first = await startForTest('--shared-db');
  page = await chromium.open({ url: `${first.address}/_dynatwin/ui/` });
  await run(page, GUIDE);
  await printed(page, 'counted three requests');
  await first.stop();
  await page.getByText('The server does not answer.').waitFor();
  // A server that starts or ends may reset connections.
  const { port } = new URL(first.address);
  const resetting = createServer((socket) => socket.resetAndDestroy()).listen(Number(port), '127.0.0.1');
  await once(resetting, 'connection');
  await once(resetting.close(), 'close');
  await startForTest('--shared-db', '--port', port);
  await page.getByText('The server does not answer.').waitFor({ state: 'detached' });
  await page.getByText('No tables yet.').first().waitFor();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.locator('.table-box', { hasText: 'items' }).waitFor();
  await page.getByRole('tab', { name: 'Requests', exact: true }).click();
  await page.locator('.requests button', { hasText: 'CreateTable' }).waitFor();
  // Refused, reset, or closed without an answer: which of these depends on the moment.
  page.trouble = page.trouble.filter((message) => !message.startsWith('Failed to load resource: net::'));
});

test('the content security policy is strict, and only the console’s files are served', async () => {
  const headers = (await fetch(`${server.address}/_dynatwin/ui/`)).headers;
  assert.match(headers.get('content-security-policy'), /default-src 'none'; script-src 'self' blob:;/);
  assert.doesNotMatch(headers.get('content-security-policy'), /unsafe/);
  assert.equal((await fetch(`${server.address}/_dynatwin/ui`, { redirect: 'manual' })).headers.get('location'), 'ui/');
  assert.equal((await fetch(`${server.address}/_dynatwin/ui/secret`)).status, 404);
});

test('with --no-control, everything that changes the emulator is disabled', async () => {
  page = await chromium.open({ url: `${guarded.address}/_dynatwin/ui/` });
  await page.locator('.banner', { hasText: '--no-control' }).waitFor();
  assert.ok(await page.getByRole('button', { name: '+1 day', exact: true }).isDisabled());
  await page.getByRole('tab', { name: 'Conditions', exact: true }).click();
  assert.ok(await page.getByRole('button', { name: 'Add rule' }).isDisabled());
});
