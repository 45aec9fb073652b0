// Clients that an application creates itself, answered by a twin.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { Dynatwin } from 'dynatwin';

const TABLE = {
  TableName: 'Tasks',
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
};
const withTable = (options, caller) => {
  const twin = new Dynatwin({ clock: 'settable', ...options });
  assert.equal(twin.dispatch('CreateTable', JSON.stringify(TABLE), caller).status, 200);
  return twin;
};
// The endpoint refuses connections, so no request can leave the machine.
const application = (settings) => new DynamoDBClient({ endpoint: 'http://127.0.0.1:1', maxAttempts: 1, ...settings });
const own = { region: 'eu-west-1', credentials: { accessKeyId: 'own', secretAccessKey: 'own' } };
const tables = async (client) => (await client.send(new ListTablesCommand({}))).TableNames;

test('a client of module scope is served until it is detached', async () => {
  const client = application(own);
  client.config.systemClockOffset = 86_400_000; // as the SDK sets it after an answer of another day
  const attachment = withTable().attach(client);
  assert.deepEqual(await tables(client), ['Tasks']);
  assert.equal(await client.config.region(), 'us-east-1');
  assert.equal(client.config.systemClockOffset, 0);
  attachment.detach();
  assert.equal(client.config.systemClockOffset, 86_400_000);
  assert.equal(await client.config.region(), 'eu-west-1');
  assert.equal((await client.config.credentials()).accessKeyId, 'own');
  await assert.rejects(tables(client), { code: 'ECONNREFUSED' });
  attachment.detach();
});

test('a client without region and credentials needs neither', async () => {
  const client = new DynamoDBClient({});
  withTable().attach(client);
  assert.deepEqual(await tables(client), ['Tasks']);
});

test('a document client and its client are attached together', async () => {
  const client = application(own);
  const documents = DynamoDBDocumentClient.from(client);
  withTable().attach(documents);
  await documents.send(new PutCommand({ TableName: 'Tasks', Item: { id: '1', tags: ['a'] } }));
  const { Item } = await documents.send(new GetCommand({ TableName: 'Tasks', Key: { id: '1' } }));
  assert.deepEqual(Item, { id: '1', tags: ['a'] });
  assert.deepEqual(await tables(client), ['Tasks']);
});

test('an attached client uses the given caller', async () => {
  const caller = { accessKey: 'tenant', region: 'eu-central-1' };
  const twin = withTable({}, caller);
  const client = application(own);
  twin.attach(client, caller);
  assert.deepEqual(await tables(client), ['Tasks']);
  twin.attach(client);
  assert.deepEqual(await tables(client), []);
});

test('of several twins the latest attached answers', async () => {
  const client = application(own);
  const first = new Dynatwin().attach(client);
  const second = withTable().attach(client);
  assert.deepEqual(await tables(client), ['Tasks']);
  const third = new Dynatwin().attach(client);
  assert.deepEqual(await tables(client), []);
  third.detach();
  assert.deepEqual(await tables(client), ['Tasks'], 'the second answers again');
  first.detach();
  first.detach();
  assert.deepEqual(await tables(client), ['Tasks']);
  second.detach();
  await assert.rejects(tables(client), { code: 'ECONNREFUSED' });
});

test('an attached client pauses between its attempts on the twin\'s clock, and keeps its other settings', async () => {
  const twin = withTable();
  twin.faults.add({ verdict: 'internalServerError', first: 3 });
  const client = application({ ...own, maxAttempts: 4 });
  twin.attach(client);
  const before = Date.now();
  assert.deepEqual(await tables(client), ['Tasks']);
  assert.ok(twin.clock.now() > new Date('2026-01-01T00:00:00Z'));
  assert.ok(Date.now() - before < 60_000);
});

test('a client that caches its middleware is attached and detached too', async () => {
  const client = application({ ...own, cacheMiddleware: true });
  await assert.rejects(tables(client), { code: 'ECONNREFUSED' });
  const attachment = withTable().attach(client);
  assert.deepEqual(await tables(client), ['Tasks']);
  attachment.detach();
  await assert.rejects(tables(client), { code: 'ECONNREFUSED' });
});

test('a disposed twin detaches its clients', async () => {
  const client = application(own);
  const twin = withTable();
  twin.attach(client);
  twin[Symbol.dispose]();
  assert.equal(await client.config.region(), 'eu-west-1');
  assert.throws(() => twin.tables(), /has been disposed/);
});

test('a client gets back the settings that it had before its latest attachment', async () => {
  const client = application(own);
  withTable().attach(client).detach();
  client.config.region = async () => 'ap-south-1';
  withTable().attach(client).detach();
  assert.equal(await client.config.region(), 'ap-south-1');
});

test('an attachment is disposable', async () => {
  const client = application(own);
  const attachment = withTable().attach(client);
  attachment[Symbol.dispose]();
  assert.equal(await client.config.region(), 'eu-west-1');
});

test('an argument that is not a client of the SDK is refused', () => {
  assert.throws(() => new Dynatwin().attach({}), /attach takes a client of the AWS SDK for JavaScript v3/);
});
