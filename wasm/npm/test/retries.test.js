// What the SDK for JavaScript retries, what a retry finds, and that no test waits for it. Also tested over HTTP
// (examples/node-guide/retries.test.mjs), in Rust (examples/lessons/src/retries.rs) and in Python
// (examples/python-guide/test_retries.py).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CreateTableCommand, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { ConfiguredRetryStrategy, StandardRetryStrategy } from '@smithy/core/retry';
import { Dynatwin } from 'dynatwin';

const TableName = 'Orders';
const Item = { PK: { S: 'ORDER#1' } };
const isNew = 'attribute_not_exists(PK)';

async function start(settings, clock = 'settable') {
  const twin = new Dynatwin({ seed: 7, clock });
  const client = new DynamoDBClient({ ...twin.clientConfig(), ...settings?.(twin) });
  await client.send(new CreateTableCommand({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }],
  }));
  return { twin, client };
}

const put = (client, more) => client.send(new PutItemCommand({ TableName, Item, ...more }));

// The milliseconds that the work waited for timers, and by the twin's clock. The elapsed time depends on the machine's
// load.
async function timed(twin, work) {
  const [{ setTimeout }, start] = [globalThis, twin.clock.now()];
  let ours = 0;
  globalThis.setTimeout = (callback, delay = 0, ...args) => {
    ours += delay;
    return setTimeout(callback, delay, ...args);
  };
  try {
    const result = await work();
    return { result, ours, theirs: twin.clock.now() - start };
  } finally {
    globalThis.setTimeout = setTimeout;
  }
}

const verdicts = ['throttle', 'internalServerError', 'serviceUnavailable', 'reset', { truncate: 1 }, 'answerLost'];
for (const verdict of verdicts) {
  test(`what fails twice passes at the third attempt: ${JSON.stringify(verdict)}`, async () => {
    const { twin, client } = await start();
    const id = twin.faults.add({ verdict, operation: 'PutItem', first: 2 });
    const { result, ours, theirs } = await timed(twin, () => put(client));
    assert.equal(result.$metadata.attempts, 3);
    const { matched, fired } = twin.faults.remove(id);
    assert.deepEqual({ matched, fired }, { matched: 3, fired: 2 });
    assert.ok(theirs > 0 && result.$metadata.totalRetryDelay <= theirs, `${theirs} ms by the twin's clock`);
    assert.ok(ours < 1000, `${ours} ms`);
  });
}

test('polling stops after its limit', async () => {
  const { twin, client } = await start(() => ({ maxAttempts: 3 }));
  const id = twin.faults.add({ verdict: 'throttle', operation: 'PutItem' });
  await assert.rejects(put(client), { name: 'ThrottlingException' });
  assert.equal(twin.faults.remove(id).fired, 3);
});

test('the retry of a lost answer meets its own write', async () => {
  const { twin, client } = await start();
  const id = twin.faults.add({ verdict: 'answerLost', operation: 'PutItem', first: 1 });
  await assert.rejects(put(client, { ConditionExpression: isNew }), { name: 'ConditionalCheckFailedException' });
  const { matched, fired } = twin.faults.remove(id);
  assert.deepEqual({ matched, fired }, { matched: 2, fired: 1 });
  assert.deepEqual(twin.items(TableName), [Item], 'it was carried out all the same');
});

test('the same seed gives the same times', async () => {
  const times = [];
  for (let run = 0; run < 2; run += 1) {
    const { twin, client } = await start();
    twin.faults.add({ verdict: 'throttle', operation: 'PutItem', share: 0.5 });
    for (let order = 0; order < 10; order += 1) await put(client, { Item: { PK: { S: `${order}` } } }).catch(() => {});
    times.push(twin.clock.now().toISOString());
  }
  assert.equal(times[0], times[1]);
  assert.notEqual(times[0], '2026-01-01T00:00:00.000Z');
});

test('full jitter as the guides configure it completes a burst, and takes no real time', async () => {
  const pauses = [];
  const fullJitterDelay = (attempt) => {
    pauses.push(Math.floor(Math.random() * Math.min(20_000, 100 * 2 ** attempt)));
    return pauses.at(-1);
  };
  const { twin, client } = await start((twin) => ({ retryStrategy: new ConfiguredRetryStrategy(8, fullJitterDelay) }));
  twin.faults.add({ verdict: 'throttle', operation: 'PutItem', first: 7 });
  const { result, ours, theirs } = await timed(twin, () => put(client));
  const sum = pauses.reduce((sum, pause) => sum + pause, 0);
  assert.equal(pauses.length, 7);
  assert.equal(theirs, sum, 'their pauses are slept as they are, by the twin');
  assert.deepEqual(result.$metadata, { ...result.$metadata, attempts: 8, totalRetryDelay: sum });
  assert.ok(ours < 1000, `${ours} ms`);
});

test('the pauses of the default strategy double up to twenty seconds', async () => {
  const { twin, client } = await start(() => ({ maxAttempts: 8 }));
  twin.faults.add({ verdict: 'throttle', operation: 'PutItem', first: 7 });
  const { result, theirs } = await timed(twin, () => put(client));
  const sum = 1000 + 2000 + 4000 + 8000 + 16_000 + 20_000 + 20_000;
  assert.deepEqual([result.$metadata.attempts, result.$metadata.totalRetryDelay, theirs], [8, sum, sum]);
});

test('requests at the same time each have their own pause', async () => {
  const { twin, client } = await start();
  twin.faults.add({ verdict: 'throttle', operation: 'PutItem', first: 5 });
  const answers = await Promise.all(Array.from({ length: 5 }, (_, order) => put(client, { Item: { PK: { S: `${order}` } } })));
  assert.deepEqual(answers.map(({ $metadata }) => $metadata.totalRetryDelay), [1000, 1000, 1000, 1000, 1000]);
  assert.equal(twin.items(TableName).length, 5);
});

test('a strategy can be wrapped by itself, also one whose tokens say how long to wait', async () => {
  const waits = { getRetryCount: () => 1, getRetryCost: () => 5, getRetryDelay: () => 60_000 };
  const old = {
    acquireInitialRetryToken: async () => waits,
    refreshRetryTokenForRetry: async () => ({ ...waits }),
    recordSuccess() {},
  };
  for (const strategy of [old, new StandardRetryStrategy({ maxAttempts: 3 })]) {
    const { twin, client } = await start((twin) => ({ extensions: [], retryStrategy: twin.retryStrategy(strategy) }));
    twin.faults.add({ verdict: 'throttle', operation: 'PutItem', first: 1 });
    const { ours, theirs } = await timed(twin, () => put(client));
    assert.equal(theirs, strategy === old ? 60_000 : 1000);
    assert.ok(ours < 1000, `${ours} ms`);
  }
});

test('on a running clock, pauses take their time by that clock', async () => {
  const tenSeconds = () => ({ retryStrategy: new ConfiguredRetryStrategy(3, () => 10_000) });
  const { twin, client } = await start(tenSeconds, { start: '2026-01-01T00:00:00Z', speed: 1000 });
  const id = twin.faults.add({ verdict: 'throttle', operation: 'PutItem', first: 1 });
  const { result, ours, theirs } = await timed(twin, () => put(client));
  assert.equal(twin.faults.remove(id).fired, 1);
  assert.equal(result.$metadata.totalRetryDelay, 10_000);
  assert.ok(theirs >= 9_999 && ours < 9_000, `${theirs} ms took ${ours} ms`);
});

test('one strategy serves the clients of several twins, even if it is wrapped repeatedly', async () => {
  const shared = new ConfiguredRetryStrategy(3, () => 2000);
  for (let run = 0; run < 3; run += 1) {
    const { twin, client } = await start((twin) => ({ retryStrategy: run === 1 ? twin.retryStrategy(shared) : shared }));
    twin.faults.add({ verdict: 'throttle', operation: 'PutItem', first: 2 });
    const { result, ours, theirs } = await timed(twin, () => put(client));
    assert.deepEqual([theirs, result.$metadata.totalRetryDelay], [4000, 4000], `run ${run}`);
    assert.ok(ours < 1000, `${ours} ms`);
  }
  assert.equal(shared.retryBackoffStrategy.computeNextBackoffDelay(0), 2000, 'elsewhere it pauses as it did');
});

test('the default strategy has steady pauses for every client that it serves', async () => {
  const shared = new StandardRetryStrategy({ maxAttempts: 3 });
  for (let run = 0; run < 3; run += 1) {
    const { twin, client } = await start(() => ({ retryStrategy: shared }));
    twin.faults.add({ verdict: 'throttle', operation: 'PutItem', first: 2 });
    const { ours, theirs } = await timed(twin, () => put(client));
    assert.equal(theirs, 3000, `run ${run}`);
    assert.ok(ours < 1000, `${ours} ms`);
  }
});

test('the pauses of the adaptive strategy are the twin\'s too', async () => {
  const { twin, client } = await start(() => ({ retryMode: 'adaptive', maxAttempts: 3 }));
  twin.faults.add({ verdict: 'internalServerError', operation: 'PutItem', first: 2 });
  const { result, theirs } = await timed(twin, () => put(client));
  assert.equal(result.$metadata.attempts, 3);
  assert.ok(theirs > 0 && theirs === result.$metadata.totalRetryDelay, `${theirs} ms`);
});
