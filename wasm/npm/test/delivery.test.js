// How `carry` delivers an answer: when, in whole or in part, and when the client gives up.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { Dynatwin } from 'dynatwin';

const body = new TextEncoder().encode('{"Count":0}');
const answerOf = (twin, more) => ({
  status: 200, headers: { 'x-amz-crc32': '1' }, body, at: twin.clock.now().getTime(), delivery: { kind: 'whole' }, ...more,
});

test('an answer arrives at its moment, unless the client gives up before', async () => {
  // Milliseconds until the answer, and the client's patience; its outcome and how long it has waited.
  for (const [wait, requestTimeout, expect, waited] of [
    [0, undefined, 200, 0],
    [500, undefined, 200, 500],
    [999, 1000, 200, 999],
    [1000, 1000, 200, 1000],
    [1001, 1000, 'TimeoutError', 1000],
    [5000, 0, 200, 5000],
  ]) {
    const twin = new Dynatwin({ clock: 'settable' });
    const start = twin.clock.now().getTime();
    const carried = twin.carry(answerOf(twin, { at: start + wait }), { requestTimeout });
    const outcome = await carried.then(({ statusCode }) => statusCode, ({ name }) => name);
    assert.deepEqual([outcome, twin.clock.now().getTime() - start], [expect, waited], `${wait} of ${requestTimeout} ms`);
  }
});

test('a lost answer is waited for as long as the client waits', async () => {
  const twin = new Dynatwin({ clock: 'settable' });
  const start = twin.clock.now().getTime();
  const lost = answerOf(twin, { delivery: { kind: 'lost' } });
  await assert.rejects(twin.carry(lost, { requestTimeout: 700 }), { name: 'TimeoutError', code: 'ETIMEDOUT' });
  assert.equal(twin.clock.now().getTime() - start, 700);
});

test('without a timeout a lost answer is waited for until the request is aborted', { timeout: 60_000 }, async () => {
  const twin = new Dynatwin({ clock: 'settable' });
  const abort = new AbortController();
  const lost = answerOf(twin, { delivery: { kind: 'lost' } });
  const carried = twin.carry(lost, { requestTimeout: 0, abortSignal: abort.signal }).then(() => 'answered', ({ name }) => name);
  assert.equal(await Promise.race([carried, new Promise((resolve) => setTimeout(resolve, 20, 'waits'))]), 'waits');
  abort.abort();
  assert.equal(await carried, 'AbortError');
});

test('a request that has ended no longer listens to its signal', async () => {
  const twin = new Dynatwin({ clock: 'settable' });
  const { signal } = new AbortController();
  await twin.carry(answerOf(twin, { at: twin.clock.now().getTime() + 5 }), { abortSignal: signal });
  await new Promise(setImmediate);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('a truncated answer announces all of its bytes', async () => {
  const twin = new Dynatwin({ clock: 'settable' });
  for (const bytes of [0, 4]) {
    const { headers, body: stream } = await twin.carry(answerOf(twin, { delivery: { kind: 'truncated', bytes } }));
    assert.deepEqual(headers, { 'x-amz-crc32': '1', 'content-length': String(body.length) });
    const reader = stream.getReader();
    if (bytes > 0) assert.deepEqual((await reader.read()).value, body.subarray(0, bytes));
    await assert.rejects(reader.read(), { code: 'ECONNRESET' });
  }
});

test('a client can abort a request whose answer is on its way', { timeout: 60_000 }, async () => {
  const twin = new Dynatwin({ clock: 'settable' });
  twin.clock.freeze();
  const [abort, aborted] = [new AbortController(), AbortSignal.abort()];
  const late = answerOf(twin, { at: twin.clock.now().getTime() + 1000 });
  const carried = twin.carry(late, { abortSignal: abort.signal });
  setImmediate(() => abort.abort());
  await assert.rejects(carried, { name: 'AbortError' });
  await assert.rejects(twin.carry(answerOf(twin), { abortSignal: aborted }), { name: 'AbortError' });
});

test('a request handler sends the bytes of a view, and its request\'s timeout precedes the client\'s', async () => {
  const twin = new Dynatwin({ clock: 'settable' });
  const headers = {
    host: 'localhost', 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'DynamoDB_20120810.ListTables',
    'x-amz-date': '20260101T000000Z',
    authorization: 'AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
  };
  const bytes = new TextEncoder().encode('x{"Limit":1}x');
  const handler = twin.requestHandler({ requestTimeout: 5000 });
  const views = [new DataView(bytes.buffer, 1, bytes.length - 2), bytes.subarray(1, -1), bytes.slice(1, -1).buffer, '{"Limit":1}'];
  for (const body of views) {
    const { response } = await handler.handle({ method: 'POST', path: '/', headers, body });
    assert.equal(response.statusCode, 200, String(body));
  }
  twin.faults.add({ verdict: { wait: 3 } });
  const request = { method: 'POST', path: '/', headers, body: '{}' };
  await assert.rejects(handler.handle(request, { requestTimeout: 1000 }), { name: 'TimeoutError' });
  assert.equal((await handler.handle(request)).response.statusCode, 200);
});

test('a request handler encodes the query', async () => {
  const twin = new Dynatwin({ clock: 'settable' });
  const table = {
    TableName: 'tab', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
  };
  assert.equal(twin.dispatch('CreateTable', JSON.stringify(table)).status, 200);
  const handler = twin.requestHandler();
  const get = async (path, query) => {
    const { response } = await handler.handle({ method: 'GET', path, query, headers: { host: 'localhost' } });
    return [response.statusCode, await new Response(response.body).text()];
  };
  for (const text of ['a', 'a&b=c', 'ä +%25', '#?/']) {
    const key = JSON.stringify({ pk: { S: text } });
    const expected = await get(`/_dynatwin/tables/tab/place?key=${encodeURIComponent(key)}`);
    assert.equal(expected[0], 200, expected[1]);
    assert.deepEqual(await get('/_dynatwin/tables/tab/place', { key }), expected, text);
    assert.deepEqual(await get('/_dynatwin/tables/tab/place', { key: [key] }), expected, text);
  }
  const [, twice] = await get('/_dynatwin/requests', { limit: ['1', '2'], after: null });
  assert.equal(twice, (await get('/_dynatwin/requests?limit=1&limit=2&after'))[1]);
  const targets = [];
  twin.handle = (method, target, ...rest) => {
    targets.push(target);
    return Dynatwin.prototype.handle.call(twin, method, target, ...rest);
  };
  for (const [path, query, expected] of [
    ['/', undefined, '/'],
    ['', undefined, '/'],
    ['', { a: '1' }, '/?a=1'],
    ['/p', {}, '/p'],
    ['/p', { a: ['1', '2'], 'b c': null, d: [] }, '/p?a=1&a=2&b%20c'],
  ]) {
    await get(path, query);
    assert.equal(targets.pop(), expected);
  }
});
