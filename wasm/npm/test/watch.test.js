// The request log of a twin, and assertions about it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dynatwin } from 'dynatwin';

function watched(options) {
  const twin = new Dynatwin({ clock: 'settable', watch: true, ...options });
  const send = (operation, body, status = 200) => {
    const answer = twin.dispatch(operation, JSON.stringify({ TableName: 'tab', ...body }));
    const text = new TextDecoder().decode(answer.body);
    assert.equal(answer.status, status, text);
    return JSON.parse(text);
  };
  send('CreateTable', {
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: ['pk', 'g'].map((name) => ({ AttributeName: name, AttributeType: 'S' })),
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    GlobalSecondaryIndexes: [
      { IndexName: 'by-g', KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } },
    ],
  });
  twin.forgetRequests();
  const put = (pk, more) => send('PutItem', { Item: { pk: { S: pk }, g: { S: 'x' }, ...more } });
  return { twin, send, put };
}

test('requests are recorded with their table, key, cost and outcome', () => {
  const { twin, send, put } = watched();
  put('a');
  twin.clock.advance(2);
  send('PutItem', { Item: { pk: { S: 'a' } }, ConditionExpression: 'attribute_not_exists(pk)' }, 400);
  const [first, second, ...others] = twin.requests();
  assert.deepEqual(others, []);
  assert.deepEqual(first, {
    number: 1,
    at: new Date('2026-01-01T00:00:00Z'),
    caller: { accessKey: 'dynatwin', region: 'us-east-1' },
    operation: 'PutItem',
    tables: ['tab'],
    accesses: [
      { act: 'Put', table: 'tab', key: { pk: { S: 'a' } }, readUnits: 0, writeUnits: 2, scanned: 0, token: 'f6558e516275dee2', partition: 3 },
    ],
    status: 200,
    delivery: { kind: 'whole' },
    readUnits: 0,
    writeUnits: 2,
    scanned: 0,
    returned: 0,
  });
  assert.deepEqual(
    [second.at, second.status, second.error, second.accesses[0].error, second.writeUnits],
    [new Date('2026-01-01T00:00:02Z'), 400, 'ConditionalCheckFailedException', 'ConditionalCheckFailedException', 1],
  );
});

test('nothing is recorded while the twin is not watched', () => {
  const { twin, put } = watched({ watch: false });
  put('a');
  assert.deepEqual([twin.watched, twin.requests(), twin.metrics(), twin.hottestKeys('tab')], [false, [], [], []]);
  twin.watch();
  put('b');
  assert.equal(twin.watched, true);
  twin.watch(false);
  put('c');
  assert.deepEqual(twin.requests().map(({ accesses }) => accesses[0].key.pk.S), ['b']);
  twin.reset();
  assert.deepEqual(twin.requests(), []);
});

test('counters have the names and dimensions of CloudWatch', () => {
  const { twin, send, put } = watched();
  put('a');
  put('b', { ttl: { N: '1767225660' } });
  send('UpdateTimeToLive', { TimeToLiveSpecification: { Enabled: true, AttributeName: 'ttl' } });
  send('Query', { KeyConditionExpression: 'pk = :a', ExpressionAttributeValues: { ':a': { S: 'a' } } });
  send('GetItem', {}, 400);
  twin.clock.advance(61);
  const table = { TableName: 'tab' };
  assert.equal(twin.metric('ConsumedWriteCapacityUnits', table), 2);
  assert.equal(twin.metric('ConsumedWriteCapacityUnits', { ...table, GlobalSecondaryIndexName: 'by-g' }), 2);
  assert.equal(twin.metric('ConsumedReadCapacityUnits', table), 0.5);
  assert.equal(twin.metric('ReturnedItemCount', { ...table, Operation: 'Query' }), 1);
  assert.equal(twin.metric('TimeToLiveDeletedItemCount', table), 1);
  assert.equal(twin.metric('UserErrors'), 1);
  assert.equal(twin.metric('ConsumedWriteCapacityUnits'), 0, 'exactly these dimensions');
  assert.deepEqual(twin.metrics({ region: 'eu-west-1' }), []);
});

test('scans are reported with a Query to use instead', () => {
  const { twin, send, put } = watched();
  put('a');
  send('ExecuteStatement', { TableName: undefined, Statement: "SELECT * FROM tab WHERE pk = 'a'" });
  assert.deepEqual(twin.scans(), []);
  send('Scan', { IndexName: 'by-g' });
  send('ExecuteStatement', { TableName: undefined, Statement: 'SELECT * FROM tab' });
  const caller = { accessKey: 'dynatwin', region: 'us-east-1' };
  const partitionKeys = [{ attribute: 'pk' }, { index: 'by-g', attribute: 'g' }];
  const seen = { table: 'tab', caller, first: new Date('2026-01-01T00:00:00Z'), times: 1, scanned: 1, partitionKeys };
  assert.deepEqual(twin.scans(), [
    { ...seen, operation: 'Scan', index: 'by-g' },
    { ...seen, operation: 'ExecuteStatement' },
  ]);
  const start = 'by access key dynatwin in us-east-1, first at 2026-01-01T00:00:00.000Z: 1 item read in 1 page.';
  const expected = [
    'dynatwin: these scans were recorded:',
    `- Scan of index by-g of tab ${start}`,
    '  A Query reads only the items of one partition key: IndexName "by-g" and KeyConditionExpression "g = :value", or KeyConditionExpression "pk = :value".',
    `- ExecuteStatement of tab ${start}`,
    '  A SELECT that fixes the partition key reads only its items: FROM "tab" WHERE "pk" = ?, or FROM "tab"."by-g" WHERE "g" = ?.',
  ];
  assert.throws(() => twin.assertNoScans(), { message: expected.join('\n') });
  twin.forgetRequests();
  twin.assertNoScans();
  assert.throws(() => new Dynatwin().assertNoScans(), /is not watched/);
});

test('keys are listed by their cost, highest first', () => {
  const { twin, put } = watched();
  for (const key of ['mild', 'hot', 'hot', 'hot', 'mild', 'cold']) put(key);
  // The first put of an item also pays for its index entry, which the others leave unchanged.
  assert.deepEqual(twin.hottestKeys('tab', 2), [
    { key: { S: 'hot' }, units: 4 },
    { key: { S: 'mild' }, units: 3 },
  ]);
  assert.equal(twin.hottestKeys('tab').length, 3);
  assert.deepEqual(twin.hottestKeys('nowhere'), []);
});

test('faults that never fired are named', () => {
  const { twin, put } = watched();
  const fires = twin.faults.add({ verdict: { wait: 1 }, operation: 'PutItem' });
  const never = twin.faults.add({ verdict: 'reset', table: 'tabb' });
  put('a');
  twin.faults.remove(fires);
  twin.faults.remove(never);
  assert.deepEqual(twin.faults.neverFired().map(({ id, matched, fired }) => [id, matched, fired]), [[never, 0, 0]]);
  assert.throws(() => twin.assertFaultsFired(), { message: /never acted.*\n- .*tabb.*: 0 matched$/ });
  twin.reset();
  twin.assertFaultsFired();
});

test('a reset of all restores clock and conditions', () => {
  const { twin } = watched();
  const start = twin.clock.now();
  const before = twin.conditions;
  twin.clock.advance(8 * 86_400);
  twin.conditions = 'storm';
  twin.reset();
  assert.notDeepEqual(twin.clock.now(), start);
  twin.reset({ all: true });
  assert.deepEqual(twin.clock.now(), start);
  assert.deepEqual(twin.conditions, before);
});

test('capacity is metered over a block, even if the twin is not watched', async () => {
  const { twin, send, put } = watched({ watch: false });
  const [result, spent] = await twin.capacitySpentBy(async () => {
    put('a');
    const [, inner] = await twin.capacitySpentBy(() => send('GetItem', { Key: { pk: { S: 'a' } }, ConsistentRead: true }));
    assert.equal(String(inner), 'tab: 1 read, 0 write');
    put('b');
    return 42;
  });
  assert.equal(result, 42);
  assert.deepEqual([spent.read('tab'), spent.write('tab'), spent.indexWrite('tab', 'by-g')], [1, 2, 2]);
  assert.deepEqual([spent.indexRead('tab', 'by-g'), spent.totalRead, spent.totalWrite], [0, 1, 4]);
  assert.deepEqual([spent.read('other'), spent.indexWrite('tab', 'other')], [0, 0]);
  assert.equal(String(spent), 'tab: 1 read, 2 write; index by-g of tab: 0 read, 2 write');
  assert.equal(twin.watched, false);
  const query = { KeyConditionExpression: 'g = :g', ExpressionAttributeValues: { ':g': { S: 'x' } } };
  const [, ofIndex] = await twin.capacitySpentBy(() => send('Query', { IndexName: 'by-g', ...query }));
  assert.equal(String(ofIndex), 'index by-g of tab: 0.5 read, 0 write');
  const [, nothing] = await twin.capacitySpentBy(() => {});
  assert.equal(String(nothing), 'nothing');
  await assert.rejects(twin.capacitySpentBy(() => Promise.reject(new Error('mine'))), /mine/);
  twin.forgetRequests();
  put('c');
  assert.deepEqual(twin.requests(), [], 'recording ends with the block, also if it fails');
});

test('a block is metered to its end, whatever it does to the recording', async () => {
  for (const change of [
    (twin) => twin.watch(false),
    (twin) => twin.restore(twin.snapshot()),
    async (twin) => void (await twin.capacitySpentBy(() => {})),
  ]) {
    const { twin, put } = watched({ watch: false });
    const [, spent] = await twin.capacitySpentBy(async () => {
      await change(twin);
      put('a');
    });
    assert.deepEqual([spent.write('tab'), twin.watched], [1, false], String(change));
  }
});

test('what a table\'s capacity was spent on is shown by partition and key', () => {
  const { twin, put } = watched({ watch: false });
  twin.watchHeat('tab');
  put('a');
  put('b');
  put('b');
  const { resources, keys } = twin.heat('tab');
  assert.deepEqual(keys[0], { key: { S: 'b' }, units: 3 });
  assert.deepEqual(resources.map(({ index }) => index), [undefined, 'by-g']);
  const [{ write, partitions }] = resources;
  assert.equal(write.units, 3);
  assert.deepEqual(write.throttles, { ProvisionedThroughput: 0, KeyRangeThroughput: 0, AccountLimit: 0, MaxOnDemandThroughput: 0 });
  assert.deepEqual([partitions[0].first, partitions.at(-1).last], ['0000000000000000', 'ffffffffffffffff']);
  assert.equal(partitions.reduce((sum, partition) => sum + partition.write.units, 0), 3);
  twin.watchHeat('tab', false);
  put('b');
  assert.deepEqual(twin.heat('tab').keys, [], 'it is no longer recorded');
  assert.throws(() => twin.heat('none'), /There is no table none/);
});

test('binary keys are bytes', () => {
  const { twin, send } = watched();
  const AttributeDefinitions = [{ AttributeName: 'pk', AttributeType: 'B' }];
  const KeySchema = [{ AttributeName: 'pk', KeyType: 'HASH' }];
  send('CreateTable', { TableName: 'bin', BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions, KeySchema });
  twin.watchHeat('bin');
  send('PutItem', { TableName: 'bin', Item: { pk: { B: 'AH//' } } });
  const key = { B: new Uint8Array([0, 127, 255]) };
  assert.deepEqual(twin.heat('bin').keys, [{ key, units: 1 }]);
  assert.deepEqual(twin.requests().at(-1).accesses[0].key, { pk: key });
});

test('the state of an index is shown', () => {
  const { twin, put } = watched();
  assert.deepEqual(twin.indexes('tab'), [{ index: 'by-g', paused: false, waiting: 0 }]);
  twin.pauseIndex('tab', 'by-g');
  twin.setIndexLag('tab', 'by-g', 2);
  put('a');
  assert.deepEqual(twin.indexes('tab'), [{ index: 'by-g', paused: true, waiting: 1, lag: 2 }]);
  twin.resumeIndex('tab', 'by-g');
  twin.setIndexLag('tab', 'by-g', undefined);
  twin.clock.advance(2);
  assert.deepEqual(twin.indexes('tab'), [{ index: 'by-g', paused: false, waiting: 0 }]);
  assert.throws(() => twin.indexes('none'), /There is no table none/);
});
