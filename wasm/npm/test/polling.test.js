// SDK waiters on a clock that polling advances.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CreateTableCommand, DeleteTableCommand, DescribeTableCommand, DynamoDBClient, UpdateTableCommand, waitUntilTableExists,
  waitUntilTableNotExists,
} from '@aws-sdk/client-dynamodb';
import { Dynatwin } from 'dynatwin';

const TableName = 'Tasks';
const create = new CreateTableCommand({
  TableName,
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
});
const index = new UpdateTableCommand({
  TableName,
  GlobalSecondaryIndexUpdates: [
    { Create: { IndexName: 'by-day', KeySchema: [{ AttributeName: 'day', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } } },
  ],
  AttributeDefinitions: [{ AttributeName: 'day', AttributeType: 'S' }],
});
const start = (options) => {
  const twin = new Dynatwin({ clock: 'polling', conditions: 'aws', ...options });
  return { twin, client: new DynamoDBClient(twin.clientConfig()) };
};
const describe = async (client) => (await client.send(new DescribeTableCommand({ TableName }))).Table;

test('waiters succeed with their first request', { timeout: 15_000 }, async () => {
  const { twin, client } = start();
  const { TableDescription } = await client.send(create);
  assert.equal(TableDescription.TableStatus, 'CREATING');
  await waitUntilTableExists({ client, maxWaitTime: 600 }, { TableName });
  assert.ok(twin.clock.now() > new Date('2026-01-01T00:00:01Z'));
  await client.send(new DeleteTableCommand({ TableName }));
  await waitUntilTableNotExists({ client, maxWaitTime: 600 }, { TableName });
  assert.deepEqual(twin.tables(), []);
});

test('an index is active when its table is described', async () => {
  const { client } = start();
  await client.send(create);
  await describe(client);
  await client.send(index);
  const table = await describe(client);
  assert.deepEqual([table.TableStatus, table.GlobalSecondaryIndexes[0].IndexStatus], ['ACTIVE', 'ACTIVE']);
});

test('one request is recorded, however long the transition takes', async () => {
  const { twin, client } = start({ watch: true });
  await client.send(create);
  await describe(client);
  assert.deepEqual(twin.requests().map(({ operation }) => operation), ['CreateTable', 'DescribeTable']);
  assert.equal(twin.watched, true);
  await describe(client);
  assert.equal(twin.requests().length, 3, 'later requests are recorded');
});

test('an answer that does not arrive is not repeated', async () => {
  for (const verdict of ['reset', { truncate: 300 }]) {
    const { twin, client } = start({ conditions: { tableStatus: 5 } });
    await client.send(create);
    const id = twin.faults.add({ verdict, operation: 'DescribeTable', first: 1 });
    const once = new DynamoDBClient({ ...twin.clientConfig(), maxAttempts: 1 });
    await assert.rejects(describe(once));
    assert.deepEqual([twin.faults.remove(id).matched, twin.clock.now().toISOString()], [1, '2026-01-01T00:00:00.000Z']);
  }
});

test('a state that never changes is returned as it is', async () => {
  const { twin, client } = start({ conditions: { tableStatus: 86_400 } });
  await client.send(create);
  assert.equal((await describe(client)).TableStatus, 'CREATING');
  assert.equal(twin.clock.now().toISOString(), '2026-01-01T01:00:00.000Z');
});

test('polling moves neither a frozen clock nor one that disables it', async () => {
  const { twin, client } = start({ conditions: { tableStatus: 5 } });
  await client.send(create);
  twin.clock.freeze();
  assert.equal((await describe(client)).TableStatus, 'CREATING');
  twin.clock.unfreeze();
  twin.clock.polling = false;
  assert.equal((await describe(client)).TableStatus, 'CREATING');
  assert.equal(twin.clock.now().toISOString(), '2026-01-01T00:00:00.000Z');
  twin.reset({ all: true });
  assert.equal(twin.clock.polling, true);
});

test('polling can be enabled on a settable clock', async () => {
  const { twin, client } = start({ clock: new Date('2030-01-01T00:00:00Z') });
  assert.equal(twin.clock.polling, false);
  await client.send(create);
  assert.equal((await describe(client)).TableStatus, 'CREATING');
  twin.clock.polling = true;
  assert.equal((await describe(client)).TableStatus, 'ACTIVE');
});
