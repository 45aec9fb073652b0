// The options of a twin, and the errors of invalid ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { controls, Dynatwin } from 'dynatwin';

test('a settable clock stands still until it is advanced, and cannot go back', () => {
  const { clock } = new Dynatwin({ clock: 'settable' });
  assert.equal(clock.now().toISOString(), '2026-01-01T00:00:00.000Z');
  clock.advance(1.5);
  assert.equal(clock.now().toISOString(), '2026-01-01T00:00:01.500Z');
  clock.set('2026-02-01T00:00:00Z');
  clock.set(new Date('2026-02-02T00:00:00Z'));
  assert.equal(clock.now().toISOString(), '2026-02-02T00:00:00.000Z');
  assert.throws(() => clock.set('2025-01-01T00:00:00Z'), /The clock cannot go back: it is 2026-02-02/);
  assert.throws(() => clock.set('tomorrow'), /"tomorrow" is not a time/);
  assert.throws(() => clock.advance(-1), /number of seconds from 0/);
  assert.throws(() => clock.advance(NaN), /number of seconds from 0/);
});

test('the system clock is the machine\'s, and advances ahead of it', () => {
  const { clock } = new Dynatwin();
  assert.ok(Math.abs(clock.now() - Date.now()) < 5000);
  clock.advance(86_400);
  assert.ok(Math.abs(clock.now() - Date.now() - 86_400_000) < 5000);
  assert.equal(clock.settable, false);
});

test('an accelerated clock runs ahead of the machine', () => {
  const { clock } = new Dynatwin({ clock: { start: new Date('2030-01-01T00:00:00Z'), speed: 1e6 } });
  const before = clock.now();
  const until = Date.now() + 3;
  while (Date.now() < until);
  assert.ok(clock.now() - before >= 1e6, `${clock.now() - before} ms`);
  assert.ok(before >= new Date('2030-01-01T00:00:00Z'));
});

test('sleeping on a settable clock moves it and takes no time', async () => {
  const { clock } = new Dynatwin({ clock: new Date('2026-01-01T00:00:00Z') });
  const before = Date.now();
  await clock.sleep(3_600_000);
  assert.ok(Date.now() - before < 1000);
  assert.equal(clock.now().toISOString(), '2026-01-01T01:00:00.000Z');
});

test('sleeping on a clock that runs fast takes less real time, and half a millisecond counts', async () => {
  const fast = new Dynatwin({ clock: { start: '2030-01-01T00:00:00Z', speed: 1000 } }).clock;
  const before = Date.now();
  await fast.sleep(20_000);
  assert.ok(fast.now() >= new Date('2030-01-01T00:00:20Z') && Date.now() - before < 15_000);
  const { clock } = new Dynatwin({ clock: 'settable' });
  await clock.sleep(0.5);
  await clock.sleep(0.5);
  assert.equal(clock.now().toISOString(), '2026-01-01T00:00:00.001Z');
});

test('conditions have names, and members that replace them', () => {
  const twin = new Dynatwin({ conditions: { base: 'storm', throttles: 0 } });
  assert.equal(twin.conditions.throttles, 0);
  assert.equal(twin.conditions.internalErrors, 0.01);
  assert.deepEqual(new Dynatwin().conditions, {
    timeToLive: 0, indexPropagation: 0, readStaleness: 0, staleReads: 1, monotonicReads: false, transactionTime: 0, replicationLag: 0, regionRoundTrip: 0, streamLag: 0, streamShards: 1, tableStatus: 0, statisticsAge: 0, itemCollectionSize: 10 * 2 ** 30, streamBytes: 2 ** 30, recoveryBytes: 2 ** 30, capacity: 'reported', controlLimits: false, latency: 'none', internalErrors: 0, throttles: 0,
  });
  const own = { timeToLive: 60, indexPropagation: { typical: 1, longest: 2 }, readStaleness: 3, staleReads: 0.5, monotonicReads: true, transactionTime: 4, replicationLag: { typical: 1, longest: 2 }, regionRoundTrip: 0.5, streamLag: 2, streamShards: 'throughput', tableStatus: 0, statisticsAge: 0, itemCollectionSize: 1000, streamBytes: 'unlimited', recoveryBytes: 1000, capacity: 'reported', controlLimits: true, latency: 'none', internalErrors: 1, throttles: 0.5 };
  assert.deepEqual(new Dynatwin({ conditions: own }).conditions, own);
  assert.equal(new Dynatwin({ conditions: { timeToLive: 'off' } }).conditions.timeToLive, 'off');
  const rules = { burst: 300, adaptive: true, partitionRead: 3000, partitionWrite: 1000, partitionSize: 2 ** 30 * 10, heatSplit: 600, growth: 1800, shardReaders: 2 };
  const capacity = (given) => new Dynatwin({ conditions: { capacity: given } }).conditions.capacity;
  assert.deepEqual(capacity('enforced'), rules);
  assert.deepEqual(capacity({ burst: 1.5, heatSplit: 'never' }), { ...rules, burst: 1.5, heatSplit: 'never' });
  assert.throws(() => capacity('tight'), /capacity must be "reported", "enforced" or an object, not "tight"/);
  assert.throws(() => capacity({ partitionRead: 0 }), /capacity.partitionRead must be a whole number greater than 0/);
});

test('sleeping does not advance a frozen clock', async () => {
  for (const option of ['settable', 'system']) {
    const { clock } = new Dynatwin({ clock: option });
    clock.freeze();
    const stood = clock.now().getTime();
    let woken = false;
    const sleeper = clock.sleep(1000).then(() => (woken = true));
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual([woken, clock.frozen, clock.now().getTime()], [false, true, stood]);
    clock.advance(1);
    await sleeper;
    assert.equal(clock.now().getTime(), stood + 1000);
    clock.unfreeze();
    assert.equal(clock.frozen, false);
    await clock.sleep(2);
    assert.ok(clock.now().getTime() >= stood + 1001);
  }
});

test('what wakes a sleeper on a frozen clock', { timeout: 60_000 }, async () => {
  for (const wake of [
    ({ clock }) => clock.advance(1),
    ({ clock }) => clock.set('2026-01-01T00:00:01Z'),
    ({ clock }) => clock.unfreeze(),
    (twin) => twin.control(controls.advanceClock({ seconds: 1 })),
    (twin) => twin.control(controls.setClock({ now: '2026-01-01T00:00:01Z' })),
    (twin) => twin.control(controls.unfreezeClock()),
    (twin) => twin.handle('POST', '/_dynatwin/clock/unfreeze', { host: 'localhost' }),
    (twin) => twin.reset({ all: true }),
    (twin) => twin.restore(new Dynatwin({ clock: 'settable' }).snapshot()),
  ]) {
    const twin = new Dynatwin({ clock: 'settable' });
    twin.clock.freeze();
    const sleeper = twin.clock.sleep(1000);
    wake(twin);
    await sleeper;
    assert.equal(twin.clock.now().toISOString(), '2026-01-01T00:00:01.000Z', String(wake));
  }
});

test('advancing a running clock ends its sleeps', { timeout: 60_000 }, async () => {
  for (const advance of [({ clock }) => clock.advance(3600), (twin) => twin.control(controls.advanceClock({ seconds: 3600 }))]) {
    const twin = new Dynatwin({ clock: 'system' });
    const ended = [];
    const sleepers = [3_600_000, 7_200_000].map((length) => twin.clock.sleep(length).then(() => ended.push(length)));
    advance(twin);
    await sleepers[0];
    assert.deepEqual(ended, [3_600_000]);
    advance(twin);
    await sleepers[1];
  }
});

test('a sleep may be longer than the longest timeout', { timeout: 60_000 }, async (context) => {
  const { mock } = context.mock.method(globalThis, 'setTimeout');
  const { clock } = new Dynatwin({ clock: { speed: 0.001 } });
  const sleeper = clock.sleep(2_700_000);
  assert.deepEqual(mock.calls.map((call) => call.arguments[1]), [2 ** 31 - 1]);
  clock.advance(2700);
  await sleeper;
});

test('methods act on the tables of their caller', () => {
  const twin = new Dynatwin({ clock: 'settable' });
  const caller = { accessKey: 'another', region: 'eu-west-1' };
  const keys = (name) => [{ AttributeName: name, KeyType: 'HASH' }];
  const table = {
    TableName: 'tab',
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: ['pk', 'g'].map((name) => ({ AttributeName: name, AttributeType: 'S' })),
    KeySchema: keys('pk'),
    GlobalSecondaryIndexes: [{ IndexName: 'by-g', KeySchema: keys('g'), Projection: { ProjectionType: 'ALL' } }],
  };
  assert.equal(twin.dispatch('CreateTable', JSON.stringify(table), caller).status, 200);
  for (const [method, ...words] of [
    ['pauseIndex', 'tab', 'by-g'], ['resumeIndex', 'tab', 'by-g'], ['setIndexLag', 'tab', 'by-g', 1], ['setIndexLag', 'tab', 'by-g', undefined],
    ['indexes', 'tab'], ['replication', 'tab'], ['expireNow', 'tab'], ['splitShards', 'tab'], ['watchHeat', 'tab', true], ['heat', 'tab'],
  ]) {
    twin[method](...words, caller);
    assert.throws(() => twin[method](...words), /There is no table tab/, method);
    assert.throws(() => twin[method](...words, { ...caller, region: 'us-east-1' }), /There is no table tab/, method);
  }
  assert.deepEqual([twin.tables(caller), twin.tables()], [['tab'], []]);
  assert.deepEqual([twin.items('tab', caller), twin.items('tab')], [[], undefined]);
});

test('an index can be paused, and what has expired deleted now', () => {
  const twin = new Dynatwin({ clock: 'settable', conditions: { timeToLive: 'off' } });
  const send = (operation, body) => {
    const answer = twin.dispatch(operation, JSON.stringify({ TableName: 'tab', ...body }));
    assert.equal(answer.status, 200);
    return JSON.parse(new TextDecoder().decode(answer.body));
  };
  const keys = (name) => [{ AttributeName: name, KeyType: 'HASH' }];
  send('CreateTable', {
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: ['pk', 'g'].map((name) => ({ AttributeName: name, AttributeType: 'S' })),
    KeySchema: keys('pk'),
    GlobalSecondaryIndexes: [{ IndexName: 'by-g', KeySchema: keys('g'), Projection: { ProjectionType: 'ALL' } }],
  });
  send('UpdateTimeToLive', { TimeToLiveSpecification: { Enabled: true, AttributeName: 'ttl' } });
  const put = (pk) => send('PutItem', { Item: { pk: { S: pk }, g: { S: 'x' }, ttl: { N: '1767225600' } } });
  const count = () => send('Scan', { IndexName: 'by-g' }).Count;
  put('a');
  twin.pauseIndex('tab', 'by-g');
  put('b');
  assert.equal(count(), 1);
  twin.resumeIndex('tab', 'by-g');
  assert.equal(count(), 2);
  twin.setIndexLag('tab', 'by-g', 10);
  put('c');
  assert.equal(count(), 2);
  twin.setIndexLag('tab', 'by-g', undefined);
  twin.clock.advance(10);
  assert.equal(count(), 3);
  assert.equal(twin.expireNow('tab'), 3);
  assert.equal(count(), 0);
  assert.throws(() => twin.pauseIndex('tab', 'by-x'), /Table tab has no global index by-x\./);
});

test('replication is paused, resumed and given a lag', () => {
  const twin = new Dynatwin();
  const there = { region: 'eu-west-1' };
  const send = (operation, body, caller) => {
    const answer = twin.dispatch(operation, JSON.stringify({ TableName: 'tab', ...body }), caller);
    assert.equal(answer.status, 200);
    return JSON.parse(new TextDecoder().decode(answer.body));
  };
  send('CreateTable', {
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  });
  send('UpdateTable', { ReplicaUpdates: [{ Create: { RegionName: there.region } }] });
  const put = (pk) => send('PutItem', { Item: { pk: { S: pk } } });
  const count = () => send('Scan', {}, there).Count;
  put('a');
  assert.equal(count(), 1);
  twin.pauseReplication('tab', there.region);
  put('b');
  assert.equal(count(), 1);
  assert.deepEqual(twin.replication('tab'), [{ region: there.region, paused: true, arriving: 0, leaving: 1 }]);
  twin.resumeReplication('tab');
  assert.equal(count(), 2);
  twin.setReplicationLag('tab', there.region, 10);
  put('c');
  assert.equal(count(), 2);
  assert.equal(twin.replication('tab')[0].lag, 10);
  twin.setReplicationLag('tab', there.region, undefined);
  assert.equal('lag' in twin.replication('tab')[0], false, 'it follows the conditions again');
  twin.clock.advance(10);
  assert.equal(count(), 3);
  // One region at a time.
  const third = { region: 'ap-south-1' };
  send('UpdateTable', { ReplicaUpdates: [{ Create: { RegionName: third.region } }] });
  const paused = () => Object.fromEntries(twin.replication('tab').map(({ region, paused }) => [region, paused]));
  twin.pauseReplication('tab');
  assert.deepEqual(paused(), { [there.region]: true, [third.region]: true });
  twin.resumeReplication('tab', third.region);
  assert.deepEqual(paused(), { [there.region]: true, [third.region]: false });
  twin.resumeReplication('tab', there.region);
  twin.pauseReplication('tab', third.region);
  assert.deepEqual(paused(), { [there.region]: false, [third.region]: true });
  assert.throws(() => twin.pauseReplication('tab', 'us-west-2'), /Table tab has no replica in us-west-2\./);
});

test('unknown options are refused with a sentence', () => {
  const refused = (options, sentence) => assert.throws(() => new Dynatwin(options), sentence);
  refused({ conditions: 'sunny' }, /There is no preset "sunny"; the presets are calm, aws and storm\./);
  refused({ conditions: { timetolive: 0 } }, /conditions has no member "timetolive"/);
  refused({ conditions: { throttles: 2 } }, /conditions\.throttles must be a number from 0 to 1/);
  refused({ conditions: { tableStatus: { typical: 2, longest: 1 } } }, /longest not below typical/);
  refused({ conditions: 7 }, /conditions must be an object with some of/);
  refused({ clock: 'noon' }, /"noon" is not a time/);
  refused({ clock: { speed: 0 } }, /clock\.speed/);
  refused({ clock: [] }, /clock must be an object with some of start, speed/);
  for (const seed of [-1, 1.5, 2 ** 53, -1n, 2n ** 64n]) refused({ seed }, /seed must be a whole number/);
  refused({ seeds: 1 }, /no option "seeds"/);
  assert.equal(new Dynatwin({ seed: 2n ** 64n - 1n }).seed, 2n ** 64n - 1n);
});

test('fault rules are counted, reported and removed', () => {
  const { faults } = new Dynatwin();
  const rule = { verdict: 'throttle', operation: 'PutItem', table: 'Orders', first: 2 };
  const id = faults.add(rule);
  assert.deepEqual(faults.report(), [{ id, rule, matched: 0, fired: 0 }]);
  for (const verdict of ['internalServerError', 'serviceUnavailable', 'reset', 'answerLost', { wait: 1 }, { truncate: 3 },
    { throttle: 'KeyRangeThroughput' }]) faults.add({ verdict, partitionPrefix: 'a', everyNth: 2 });
  assert.equal(faults.report().length, 8);
  for (const verdict of [{ exception: 'TransactionConflictException' }, { kms: 'Disabled' }, 'corruptChecksum', 'failJob',
    'internalServerErrorAfterApply', { wait: { typical: 0.1, longest: 2 } }]) {
    faults.remove(faults.add({ verdict, region: 'us-east-1', after: new Date('2030-01-01'), for: 60 }));
  }
  const outage = faults.startOutage('az-loss', { table: 'Orders' });
  const ofOutage = faults.report().filter(({ id }) => outage.includes(id));
  assert.ok(ofOutage.length > 0 && ofOutage.every(({ rule }) => rule.table === 'Orders'));
  outage.forEach((id) => faults.remove(id));
  assert.equal(faults.remove(id).id, id);
  assert.equal(faults.remove(id), undefined);
  faults.clear();
  assert.deepEqual(faults.report(), []);
});

test('incomplete and contradictory fault rules are refused', () => {
  const refused = (rule, sentence) => assert.throws(() => new Dynatwin().faults.add(rule), sentence);
  refused({}, /A rule needs a verdict/);
  refused({ verdict: 'explode' }, /"explode" is not a verdict/);
  refused({ verdict: { wait: 1, truncate: 2 } }, /A verdict must have one effect/);
  refused({ verdict: { throttle: 'Mood' } }, /"Mood" is not a reason/);
  refused({ verdict: 'reset', first: 1, nth: 2 }, /one of first, nth, everyNth and share/);
  refused({ verdict: 'reset', first: 0.5 }, /rule\.first must be a whole number greater than 0/);
  refused({ verdict: 'reset', share: 1.5 }, /rule\.share must be a number from 0 to 1/);
  refused({ verdict: 'reset', partition: 'a', partitionPrefix: 'a' }, /cannot have both/);
  refused({ verdict: { exception: 'TransactionConflictException' }, operation: 'GetItem' }, /GetItem never returns/);
  refused({ verdict: 'reset', after: 2, until: 1 }, /ends before it begins/);
  assert.throws(() => new Dynatwin().faults.startOutage('flood'), /There is no outage "flood"/);
  refused({ verdict: 'reset', tabel: 'T' }, /rule has no member "tabel"/);
  refused('reset', /rule must be an object/);
  refused({ verdict: 'reset', share: NaN }, /rule\.share must be a number from 0 to 1/);
  refused({ verdict: { wait: 10n } }, /verdict\.wait must be a number of seconds, or an object with some of typical, p99, longest/);
});
