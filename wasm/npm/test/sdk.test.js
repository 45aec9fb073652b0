// The unmodified AWS SDK over the twin: no server, no port.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import {
  CreateTableCommand, DescribeTimeToLiveCommand, DynamoDBClient, ListTablesCommand, UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import {
  BatchWriteCommand, DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand, TransactWriteCommand, UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { Dynatwin } from 'dynatwin';

const TableName = 'Tasks';
const WEEK = 7 * 86_400;
let twin;
let client;
let documents;

async function start(options) {
  twin = new Dynatwin({ seed: 1, clock: 'settable', ...options });
  client = new DynamoDBClient({ ...twin.clientConfig(), maxAttempts: 1 });
  documents = DynamoDBDocumentClient.from(client);
  await client.send(new CreateTableCommand({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }, { AttributeName: 'SK', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }, { AttributeName: 'SK', KeyType: 'RANGE' }],
  }));
}

const put = (Item, more) => documents.send(new PutCommand({ TableName, Item, ...more }));
const get = async (Key) => (await documents.send(new GetCommand({ TableName, Key, ConsistentRead: true }))).Item;
const unlessThere = { ConditionExpression: 'attribute_not_exists(PK) AND attribute_not_exists(SK)' };
const task = { PK: 'PROJECT#1', SK: 'TASK#1', title: 'Ship', status: 'OPEN', ownerId: 'u1', tags: new Set(['a', 'b']) };
const patient = (settings) => DynamoDBDocumentClient.from(new DynamoDBClient({
  ...twin.clientConfig(), maxAttempts: 3, ...settings,
}));

beforeEach(() => start());

test('a stored item is read back', async () => {
  const item = { ...task, bytes: new Uint8Array([0, 127, 255]), price: 12.5, done: false, none: null, deep: { list: [1, 'x', [{}]] } };
  await put(item);
  assert.deepEqual(await get({ PK: task.PK, SK: task.SK }), item);
  assert.equal(await get({ PK: task.PK, SK: 'TASK#2' }), undefined);
});

test('items can be inspected directly, in the form of the SDK', async () => {
  await put({ PK: 'a', SK: 'b', n: 1.5, set: new Set([1, 2]), bytes: new Uint8Array([1, 2]), list: [true, null, { x: 'y' }] });
  assert.deepEqual(twin.tables(), [TableName]);
  assert.deepEqual(twin.items(TableName), [{
    PK: { S: 'a' }, SK: { S: 'b' }, n: { N: '1.5' }, set: { NS: ['1', '2'] }, bytes: { B: new Uint8Array([1, 2]) },
    list: { L: [{ BOOL: true }, { NULL: true }, { M: { x: { S: 'y' } } }] },
  }]);
  assert.equal(twin.items('Others'), undefined);
  assert.deepEqual(twin.tables({ region: 'eu-west-1' }), []);
  twin.reset();
  assert.deepEqual(twin.tables(), []);
});

test('a duplicate is refused', async () => {
  await put(task, unlessThere);
  await assert.rejects(put(task, unlessThere), { name: 'ConditionalCheckFailedException', message: 'The conditional request failed' });
});

test('a page reports its consumed capacity', async () => {
  for (const number of [3, 1, 2]) await put({ ...task, SK: `TASK#${number}` });
  await put({ ...task, SK: 'NOTE#1' });
  const page = await documents.send(new QueryCommand({
    TableName,
    KeyConditionExpression: 'PK = :pk AND begins_with(SK, :taskPrefix)',
    ExpressionAttributeValues: { ':pk': task.PK, ':taskPrefix': 'TASK#' },
    ReturnConsumedCapacity: 'TOTAL',
  }));
  assert.deepEqual(page.Items.map(({ SK }) => SK), ['TASK#1', 'TASK#2', 'TASK#3']);
  assert.deepEqual(page.ConsumedCapacity, { TableName, CapacityUnits: 0.5 });
});

test('a task is completed once', async () => {
  await put(task);
  const complete = () => documents.send(new UpdateCommand({
    TableName,
    Key: { PK: task.PK, SK: task.SK },
    UpdateExpression: 'SET #status = :done, updatedAt = :now',
    ConditionExpression: 'ownerId = :ownerId AND #status <> :done',
    ExpressionAttributeNames: { '#status': 'status' },
    ExpressionAttributeValues: { ':done': 'DONE', ':now': twin.clock.now().toISOString(), ':ownerId': 'u1' },
    ReturnValues: 'ALL_NEW',
  }));
  assert.deepEqual((await complete()).Attributes, { ...task, status: 'DONE', updatedAt: '2026-01-01T00:00:00.000Z' });
  await assert.rejects(complete(), { name: 'ConditionalCheckFailedException' });
});

test('an expired session is deleted', async () => {
  const AttributeName = 'expiresAt';
  await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { AttributeName, Enabled: true } }));
  twin.clock.advance(3600);
  const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
  assert.deepEqual(TimeToLiveDescription, { AttributeName, TimeToLiveStatus: 'ENABLED' });
  const expiresAt = twin.clock.now().getTime() / 1000 + WEEK;
  await put({ PK: 'SESSION#1', SK: 'SESSION', expiresAt });
  assert.equal(twin.nextDue().getTime(), expiresAt * 1000);
  twin.clock.advance(WEEK - 1);
  assert.ok(await get({ PK: 'SESSION#1', SK: 'SESSION' }));
  twin.clock.advance(2);
  assert.equal(await get({ PK: 'SESSION#1', SK: 'SESSION' }), undefined);
  assert.deepEqual(twin.items(TableName), []);
});

test('one of fifty concurrent conditional writes succeeds', async () => {
  const race = await Promise.allSettled(Array.from({ length: 50 }, (_, racer) =>
    put({ PK: 'WEBHOOK#e1', SK: 'EVENT', racer }, { ConditionExpression: 'attribute_not_exists(PK)' })));
  assert.equal(race.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const { reason } of race.filter(({ status }) => status === 'rejected')) {
    assert.equal(reason.name, 'ConditionalCheckFailedException');
  }
});

test('a counter is incremented atomically', async () => {
  const count = () => documents.send(new UpdateCommand({
    TableName,
    Key: { PK: 'RATE#u1', SK: 'WINDOW' },
    UpdateExpression: 'ADD #count :one',
    ExpressionAttributeNames: { '#count': 'count' },
    ExpressionAttributeValues: { ':one': 1 },
    ReturnValues: 'UPDATED_NEW',
  }));
  const counts = await Promise.all(Array.from({ length: 10 }, count));
  assert.deepEqual(counts.map(({ Attributes }) => Attributes.count).sort((a, b) => a - b), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('a cancelled transaction reports its reasons', async () => {
  await put(task);
  const transaction = documents.send(new TransactWriteCommand({
    TransactItems: [
      { Put: { TableName, Item: { PK: 'x', SK: 'x' } } },
      { Put: { TableName, Item: task, ...unlessThere } },
    ],
  }));
  await assert.rejects(transaction, (error) => {
    assert.equal(error.name, 'TransactionCanceledException');
    assert.deepEqual(error.CancellationReasons.map(({ Code }) => Code), ['None', 'ConditionalCheckFailed']);
    return true;
  });
  assert.equal(twin.items(TableName).length, 1);
});

test('a service error has its message and request id', async () => {
  await assert.rejects(documents.send(new GetCommand({ TableName: 'Missing', Key: { PK: 'a' } })), (error) => {
    assert.equal(error.name, 'ResourceNotFoundException');
    assert.equal(error.message, 'Requested resource not found');
    assert.equal(error.$metadata.httpStatusCode, 400);
    assert.match(error.$metadata.requestId, /^[A-Z0-9]{52}$/);
    return true;
  });
});

test('each region and access key has its own tables, unless they are shared', async () => {
  const names = async (from, caller) => (await new DynamoDBClient(from.clientConfig(caller)).send(new ListTablesCommand({}))).TableNames;
  assert.deepEqual(await names(twin, {}), [TableName]);
  assert.deepEqual(await names(twin, { region: 'eu-west-1' }), []);
  assert.deepEqual(await names(twin, { accessKey: 'other' }), []);
  await start({ sharedTables: true });
  assert.deepEqual(await names(twin, { region: 'eu-west-1', accessKey: 'other' }), [TableName]);
});

test('the SDK retries a throttled write', async () => {
  const id = twin.faults.add({ verdict: 'throttle', operation: 'PutItem', table: TableName, first: 2 });
  await assert.rejects(put(task), /Throughput|throttl/i);
  const { $metadata } = await patient().send(new PutCommand({ TableName, Item: task }));
  assert.equal($metadata.attempts, 2);
  assert.equal(twin.faults.remove(id).fired, 2);
});

test('throttled entries of a batch are unprocessed', async () => {
  twin.faults.add({ verdict: 'throttle', operation: 'BatchWriteItem', partition: 'b' });
  const requests = ['a', 'b', 'c'].map((PK) => ({ PutRequest: { Item: { PK, SK: 's' } } }));
  const { UnprocessedItems } = await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: requests } }));
  assert.deepEqual(UnprocessedItems[TableName], [requests[1]]);
});

test('the SDK retries a reset, a truncated answer and a server error', async () => {
  for (const verdict of ['reset', { truncate: 1 }, { truncate: 0 }, 'internalServerError', 'serviceUnavailable']) {
    const id = twin.faults.add({ verdict, operation: 'GetItem', first: 1 });
    const answer = await patient().send(new GetCommand({ TableName, Key: { PK: 'a', SK: 'b' } }));
    assert.equal(answer.$metadata.attempts, 2, JSON.stringify(verdict));
    assert.equal(twin.faults.remove(id).fired, 1);
  }
});

test('a delayed answer advances a settable clock', async () => {
  twin.faults.add({ verdict: { wait: 20 }, operation: 'PutItem' });
  const before = twin.clock.now();
  await put(task);
  assert.equal(twin.clock.now() - before, 20_000);
});

test('a lost answer is a timeout, and the request is executed', async () => {
  twin.faults.add({ verdict: 'answerLost', operation: 'PutItem', first: 1 });
  await assert.rejects(put(task), { name: 'TimeoutError' });
  assert.equal(twin.items(TableName).length, 1);
});

test('waiting for a lost answer can be aborted', async () => {
  twin.faults.add({ verdict: 'answerLost', operation: 'PutItem' });
  const endless = DynamoDBDocumentClient.from(new DynamoDBClient({
    ...twin.clientConfig(), requestHandler: twin.requestHandler({ requestTimeout: 0 }),
  }));
  const stop = new AbortController();
  const waiting = endless.send(new PutCommand({ TableName, Item: task }), { abortSignal: stop.signal });
  setImmediate(() => stop.abort());
  await assert.rejects(waiting, { name: 'AbortError' });
});

test('requests below the envelope take text and bytes', () => {
  for (const body of ['{"TableName":"Tasks"}', new TextEncoder().encode('{"TableName":"Tasks"}')]) {
    const answer = twin.dispatch('DescribeTable', body);
    assert.equal(answer.status, 200);
    assert.equal(JSON.parse(new TextDecoder().decode(answer.body)).Table.TableName, TableName);
  }
  const answer = twin.dispatch('DynamoDB_20120810.DescribeTable', '{"TableName":"Tasks"', { region: 'us-east-1' });
  assert.equal(answer.status, 400);
  assert.match(new TextDecoder().decode(answer.body), /SerializationException/);
});
