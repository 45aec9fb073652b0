// The part that the helpers for Jest and Vitest share, with hooks that this test runs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { build } from 'esbuild';
import { Dynatwin } from 'dynatwin';

// The package contains it only within the helpers, which need their test runner.
const toPackage = { name: 'dynatwin', setup: ({ onResolve }) =>
  onResolve({ filter: /^dynatwin$/ }, () => ({ path: import.meta.resolve('dynatwin'), external: true })) };
const entryPoints = [fileURLToPath(new URL('../src/testing.ts', import.meta.url))];
const { outputFiles } = await build({ entryPoints, bundle: true, format: 'esm', write: false, plugins: [toPackage] });
const { useDynatwin } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);

const key = { AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }] };
const tasks = (more) => ({ TableName: 'Tasks', ...key, ...more });

function using(options) {
  const hooks = {};
  const twin = useDynatwin(
    Object.fromEntries(['beforeAll', 'beforeEach', 'afterAll'].map((name) => [name, (hook) => (hooks[name] = hook)])),
    { clock: 'settable', ...options },
  );
  return { twin, hooks };
}

const put = (twin, id) => twin.dispatch('PutItem', JSON.stringify({ TableName: 'Tasks', Item: { id: { S: id } } }));
const describe = (twin) => JSON.parse(new TextDecoder().decode(twin.dispatch('DescribeTable', '{"TableName":"Tasks"}').body)).Table;

test('each test finds the tables and items of the options', async () => {
  const { twin, hooks } = using({ tables: async () => [tasks({ data: [{ id: '1' }] })], template: (twin) => void put(twin, '2') });
  await hooks.beforeAll();
  const ids = () => twin.items('Tasks').map(({ id }) => id.S).sort();
  for (const added of ['a', 'b']) {
    hooks.beforeEach();
    assert.deepEqual(ids(), ['1', '2']);
    put(twin, added);
    assert.deepEqual(ids(), ['1', '2', added]);
  }
});

test('an item is converted from plain values', async () => {
  const data = [{
    id: '1', n: 1.5, big: 2n ** 70n, yes: true, nothing: null, bytes: new Uint8Array([1, 2]), list: [1, 'a'], map: { b: false },
    strings: new Set(['a']), numbers: new Set([1, 2n]), binaries: new Set([new Uint8Array([3])]), absent: undefined,
  }];
  const { twin, hooks } = using({ tables: [tasks({ data })] });
  await hooks.beforeAll();
  assert.deepEqual(twin.items('Tasks'), [{
    id: { S: '1' }, n: { N: '1.5' }, big: { N: '1180591620717411303424' }, yes: { BOOL: true }, nothing: { NULL: true },
    bytes: { B: new Uint8Array([1, 2]) }, list: { L: [{ N: '1' }, { S: 'a' }] }, map: { M: { b: { BOOL: false } } },
    strings: { SS: ['a'] }, numbers: { NS: ['1', '2'] }, binaries: { BS: [new Uint8Array([3])] },
  }]);
  for (const value of [Symbol('s'), () => {}, new Set([1, 'a'])]) {
    const refused = using({ tables: [tasks({ data: [{ id: '1', value }] })] });
    await assert.rejects(refused.hooks.beforeAll(), TypeError);
  }
});

test('a table is on demand by default', async () => {
  const ProvisionedThroughput = { ReadCapacityUnits: 3, WriteCapacityUnits: 4 };
  for (const [more, read] of [
    [{}, 0],
    [{ BillingMode: 'PAY_PER_REQUEST' }, 0],
    [{ ProvisionedThroughput }, 3],
    [{ BillingMode: 'PROVISIONED', ProvisionedThroughput }, 3],
  ]) {
    const { twin, hooks } = using({ tables: [tasks(more)] });
    await hooks.beforeAll();
    const { BillingModeSummary: billing, ProvisionedThroughput: units } = describe(twin);
    assert.deepEqual([billing?.BillingMode ?? 'PROVISIONED', units.ReadCapacityUnits], [read ? 'PROVISIONED' : 'PAY_PER_REQUEST', read]);
  }
});

test('tables of the options are active at once under any conditions', async () => {
  for (const table of [tasks(), tasks({ KeySchema: [] })]) {
    const { twin, hooks } = using({ conditions: 'aws', tables: [table] });
    await hooks.beforeAll().catch(({ message }) => assert.match(message, /^CreateTable: ValidationException: /));
    assert.deepEqual(twin.conditions, new Dynatwin({ conditions: 'aws' }).conditions);
    if (table.KeySchema.length > 0) assert.equal(describe(twin).TableStatus, 'ACTIVE');
  }
});

test('clients are attached until the end of the file', async () => {
  const client = () => new DynamoDBClient({ region: 'eu-west-1', endpoint: 'http://127.0.0.1:1', maxAttempts: 1 });
  const [one, two] = [client(), client()];
  for (const [attach, attached] of [[one, [one]], [[one, two], [one, two]]]) {
    const { hooks } = using({ tables: [tasks()], attach });
    await hooks.beforeAll();
    for (const each of attached) assert.deepEqual((await each.send(new ListTablesCommand({}))).TableNames, ['Tasks']);
    hooks.afterAll();
    for (const each of attached) assert.equal(await each.config.region(), 'eu-west-1');
  }
});
