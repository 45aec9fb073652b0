// Snapshots: states that twins return to and start from.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dynatwin } from 'dynatwin';

const TASKS = {
  TableName: 'Tasks',
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
};
const decoder = new TextDecoder();

function send(twin, operation, input) {
  const { status, body } = twin.dispatch(operation, JSON.stringify(input));
  const text = decoder.decode(body);
  assert.equal(status, 200, text);
  return JSON.parse(text);
}
const put = (twin, id, more) => send(twin, 'PutItem', { TableName: 'Tasks', Item: { id: { S: String(id) }, ...more } });
const count = (twin) => twin.items('Tasks').length;

function start(options) {
  const twin = new Dynatwin({ clock: 'settable', ...options });
  send(twin, 'CreateTable', TASKS);
  put(twin, 1);
  return twin;
}

test('a twin can be restored from a snapshot repeatedly', () => {
  const twin = start({ seed: 7 });
  twin.clock.advance(60);
  twin.conditions = { throttles: 0.5 };
  const before = twin.snapshot();
  const description = send(twin, 'DescribeTable', { TableName: 'Tasks' });
  for (let round = 0; round < 3; round += 1) {
    twin.conditions = 'calm';
    put(twin, 2);
    send(twin, 'DeleteTable', { TableName: 'Tasks' });
    twin.clock.advance(3600);
    twin.faults.add({ verdict: 'throttle' });
    twin.restore(before);
    assert.deepEqual(twin.items('Tasks'), [{ id: { S: '1' } }]);
    assert.deepEqual(send(twin, 'DescribeTable', { TableName: 'Tasks' }), description);
    assert.equal(twin.clock.now().toISOString(), '2026-01-01T00:01:00.000Z');
    assert.equal(twin.conditions.throttles, 0.5);
    assert.deepEqual(twin.faults.report(), []);
  }
});

test('a snapshot is bytes that another twin restores', () => {
  const saved = start({ seed: 7 }).snapshot().bytes();
  const other = new Dynatwin({ seed: 1, clock: 'settable' });
  other.restore(saved);
  assert.equal(count(other), 1);
  assert.deepEqual(other.snapshot().bytes(), saved);
  const damaged = saved.slice();
  damaged[saved.length >> 1] ^= 1;
  for (const bytes of [damaged, saved.subarray(1), new Uint8Array()]) {
    assert.throws(() => other.restore(bytes), /not a snapshot/);
  }
  assert.equal(count(other), 1);
});

test('forks do not share state', () => {
  const twin = start({ seed: 7n });
  const [one, other] = [twin.fork(), twin.fork()];
  put(one, 2);
  put(other, 3);
  put(other, 4);
  assert.deepEqual([twin, one, other].map(count), [1, 2, 3]);
  assert.equal(one.seed, 7n);
  one.clock.advance(60);
  assert.equal(twin.clock.now().toISOString(), '2026-01-01T00:00:00.000Z');
});

test('a fork has the options of its origin', () => {
  const twin = start({ clock: 'polling', watch: true, sharedTables: true });
  const fork = twin.fork();
  assert.deepEqual([fork.clock.polling, fork.watched], [true, true]);
  assert.deepEqual(fork.requests(), []);
  assert.deepEqual(fork.tables({ accessKey: 'another' }), ['Tasks']);
  put(fork, 2);
  assert.equal(fork.requests().length, 1);
  fork.restore(twin.snapshot());
  assert.deepEqual([fork.watched, fork.requests().length], [true, 0]);
});

test('indexes, streams and expiry continue in a fork', () => {
  const twin = new Dynatwin({ clock: 'settable' });
  send(twin, 'CreateTable', {
    ...TASKS,
    AttributeDefinitions: ['id', 'day'].map((name) => ({ AttributeName: name, AttributeType: 'S' })),
    GlobalSecondaryIndexes: [
      { IndexName: 'by-day', KeySchema: [{ AttributeName: 'day', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } },
    ],
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
  });
  send(twin, 'UpdateTimeToLive', { TableName: 'Tasks', TimeToLiveSpecification: { Enabled: true, AttributeName: 'until' } });
  const until = twin.clock.now().getTime() / 1000 + 60;
  put(twin, 1, { day: { S: 'monday' }, until: { N: String(until) } });
  const fork = twin.fork();
  const query = { TableName: 'Tasks', IndexName: 'by-day', KeyConditionExpression: '#d = :d', ExpressionAttributeNames: { '#d': 'day' }, ExpressionAttributeValues: { ':d': { S: 'monday' } } };
  assert.equal(send(fork, 'Query', query).Count, 1);
  fork.clock.advance(3600);
  assert.deepEqual([count(fork), send(fork, 'Query', query).Count, count(twin)], [0, 0, 1]);
  const { LatestStreamArn } = send(fork, 'DescribeTable', { TableName: 'Tasks' }).Table;
  const streams = (operation, input) => send(fork, `DynamoDBStreams_20120810.${operation}`, input);
  const { Shards } = streams('DescribeStream', { StreamArn: LatestStreamArn }).StreamDescription;
  const shard = { StreamArn: LatestStreamArn, ShardId: Shards[0].ShardId, ShardIteratorType: 'TRIM_HORIZON' };
  const { Records } = streams('GetRecords', { ShardIterator: streams('GetShardIterator', shard).ShardIterator });
  assert.deepEqual(Records.map(({ eventName }) => eventName), ['INSERT', 'REMOVE']);
});

test('each fork makes the same decisions with the same seed', () => {
  const snapshot = start({ seed: 3, conditions: { throttles: 0.5 } }).snapshot();
  const statuses = (twin) => {
    const get = JSON.stringify({ TableName: 'Tasks', Key: { id: { S: '1' } } });
    return Array.from({ length: 20 }, () => twin.dispatch('GetItem', get).status);
  };
  const first = statuses(snapshot.fork());
  assert.deepEqual(statuses(snapshot.fork()), first);
  assert.equal(new Set(first).size, 2);
});

test('a thousand forks of a thousand items', () => {
  const twin = start();
  for (let id = 2; id <= 1000; id += 1) put(twin, id);
  const snapshot = twin.snapshot();
  for (let round = 0; round < 1000; round += 1) {
    const fork = snapshot.fork();
    if (round % 100 === 0) assert.equal(count(fork), 1000);
    fork[Symbol.dispose]();
  }
});

test('using a disposed twin throws, and disposing it again does nothing', () => {
  const twin = new Dynatwin();
  const snapshot = twin.snapshot();
  for (const disposed of [twin, snapshot]) {
    disposed[Symbol.dispose]();
    disposed[Symbol.dispose]();
  }
  for (const use of [() => twin.tables(), () => twin.clock.now(), () => twin.dispatch('ListTables', '{}'), () => twin.fork()]) {
    assert.throws(use, { message: 'This twin has been disposed.' });
  }
  for (const use of [() => snapshot.bytes(), () => snapshot.fork(), () => new Dynatwin().restore(snapshot)]) {
    assert.throws(use, { message: 'This snapshot has been disposed.' });
  }
});

test('a snapshot outlives its twin, and is freed with dispose', () => {
  const twin = start();
  const snapshot = twin.snapshot();
  twin[Symbol.dispose]();
  assert.equal(count(snapshot.fork()), 1);
  snapshot[Symbol.dispose]();
  assert.throws(() => snapshot.fork(), /has been disposed/);
  assert.throws(() => new Dynatwin().restore({}), /restore takes what snapshot\(\) has returned, or its bytes\(\)/);
});
