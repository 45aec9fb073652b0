// Every declared control has a call in `controls`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { controls, Dynatwin } from 'dynatwin';

test('a declared control is called without a method of its own', () => {
  const twin = new Dynatwin({ clock: 'settable' });
  const keys = [{ AttributeName: 'pk', KeyType: 'HASH' }];
  const attributes = [{ AttributeName: 'pk', AttributeType: 'S' }];
  const create = { TableName: 'tab', KeySchema: keys, AttributeDefinitions: attributes, BillingMode: 'PAY_PER_REQUEST' };
  assert.equal(twin.dispatch('CreateTable', JSON.stringify(create)).status, 200);
  assert.equal(twin.control(controls.advanceClock({ seconds: 1.5 })).now, '2026-01-01T00:00:01.500Z');
  assert.deepEqual(twin.control(controls.listItems({ table: 'tab', limit: 1 })), { items: [], skipped: 0 });
  assert.equal(twin.control(controls.getPlace({ table: 'tab', key: '{"pk": {"S": "a&b"}}' })).token.length, 16);
  assert.throws(() => twin.control(controls.listItems({ table: 'tab', limit: 0 })), /limit must be from 1 to 1000\./);
  assert.throws(() => twin.control(controls.getPending({ table: 'a/b?' })), { message: /There is no table a\/b\? /, status: 404 });
  assert.deepEqual(twin.control(controls.listTables(), { region: 'eu-west-1' }), []);
});

test('bytes are sent and returned as bytes', () => {
  const twin = new Dynatwin({ clock: 'settable' });
  const state = twin.control(controls.getSnapshot());
  assert.ok(state instanceof Uint8Array);
  twin.clock.advance(60);
  assert.equal(twin.control(controls.restoreSnapshot(state)).clock.now, '2026-01-01T00:00:00.000Z');
});
