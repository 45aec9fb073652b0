// Modules of the page, without a browser: values, texts, definitions, files, the log, and time in the code's Worker.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

// An open port would keep the process alive.
const ports = [];
globalThis.MessageChannel = class extends MessageChannel {
  constructor() {
    super();
    ports.push(this.port1);
  }
};
const vite = await createServer({
  root: fileURLToPath(new URL('..', import.meta.url)),
  configFile: false,
  appType: 'custom',
  logLevel: 'error',
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true, include: [] },
});
after(async () => {
  for (const port of ports) port.close();
  await vite.close();
});
const load = (name) => vite.ssrLoadModule(`/src/${name}.ts`);

const OWNER = { accessKey: 'playground', region: 'us-east-1' };
const refusal = async (name, status = 400) => new (await load('transport/dynamodb')).ServiceError(name, 'no', status);

test('values are shown, edited as plain JSON, and converted back', async () => {
  const { brief, keyText, plain, typed } = await load('value');
  for (const [value, text, json] of [
    [{ S: 'a "b"' }, 'a "b"', 'a "b"'],
    [{ N: '1.5' }, '1.5', 1.5],
    [{ N: '-7' }, '-7', -7],
    [{ N: '12345678901234567890' }, '12345678901234567890', { N: '12345678901234567890' }],
    [{ N: '0.1234567890123456789' }, '0.1234567890123456789', { N: '0.1234567890123456789' }],
    // Numbers that JavaScript would round.
    [{ N: '1.0000000000000000001' }, '1.0000000000000000001', { N: '1.0000000000000000001' }],
    [{ N: '0.99999999999999999999' }, '0.99999999999999999999', { N: '0.99999999999999999999' }],
    [{ N: '9007199254740990.9' }, '9007199254740990.9', { N: '9007199254740990.9' }],
    [{ N: '9007199254740991' }, '9007199254740991', 9007199254740991],
    [{ B: 'YQ==' }, '<YQ==>', { B: 'YQ==' }],
    [{ BOOL: false }, 'false', false],
    [{ NULL: true }, 'null', null],
    [{ SS: ['a', 'b'] }, '{a, b}', { SS: ['a', 'b'] }],
    [{ NS: ['1', '2'] }, '{1, 2}', { NS: ['1', '2'] }],
    [{ BS: ['YQ=='] }, '{YQ==}', { BS: ['YQ=='] }],
    [{ L: [{ N: '1' }, { NULL: true }] }, '[1,null]', [1, null]],
    [{ M: { a: { S: 'x' }, b: { L: [] } } }, '{"a":"x","b":[]}', { a: 'x', b: [] }],
    [{ M: {} }, '{}', {}],
    // Maps whose only member is called as a type.
    [{ M: { S: { S: 'x' } } }, '{"S":"x"}', { S: 'x' }],
    [{ M: { N: { S: '1' } } }, '{"M":{"N":{"S":"1"}}}', { M: { N: { S: '1' } } }],
    [{ M: { SS: { L: [{ S: 'x' }] } } }, '{"M":{"SS":{"L":[{"S":"x"}]}}}', { M: { SS: { L: [{ S: 'x' }] } } }],
    [{ M: { M: { M: { B: { S: 'x' } } } } }, '{"M":{"M":{"B":{"S":"x"}}}}', { M: { M: { B: { S: 'x' } } } }],
    [{ M: { M: { M: { a: { S: 'x' } } } } }, '{"M":{"a":"x"}}', { M: { a: 'x' } }],
    // Such maps are plain where no other value has this form.
    [{ M: { N: { N: '5' } } }, '{"N":5}', { N: 5 }],
    [{ M: { B: { NULL: true } } }, '{"B":null}', { B: null }],
    [{ M: { SS: { S: 'x' } } }, '{"SS":"x"}', { SS: 'x' }],
    [{ M: { NS: { L: [{ N: '1' }] } } }, '{"NS":[1]}', { NS: [1] }],
    [{ M: { BS: { L: [] } } }, '{"M":{"BS":{"L":[]}}}', { M: { BS: { L: [] } } }],
    [{ M: { M: { M: { N: { N: '5' } } } } }, '{"M":{"N":5}}', { M: { N: 5 } }],
    [{ M: { N: { M: { S: { S: '1' } } } } }, '{"M":{"N":{"M":{"S":{"S":"1"}}}}}', { M: { N: { M: { S: { S: '1' } } } } }],
    [{ M: { M: { M: { N: { M: { S: { S: '1' } } } } } } }, '{"M":{"M":{"N":{"M":{"S":{"S":"1"}}}}}}', { M: { M: { N: { M: { S: { S: '1' } } } } } }],
    [{ M: { M: { N: '12345678901234567890' } } }, '{"M":{"N":"12345678901234567890"}}', { M: { N: '12345678901234567890' } }],
  ]) {
    assert.equal(brief(value), text);
    assert.deepEqual(plain(value), json);
    assert.deepEqual(typed(plain(value)), value);
  }
  // An object with further members is a map, whatever they are called.
  assert.deepEqual(typed({ M: { N: { S: '1' } }, x: 1 }).M.x, { N: '1' });
  assert.deepEqual(typed({ N: '1', x: 1 }), { M: { N: { S: '1' }, x: { N: '1' } } });
  assert.equal(keyText({ PK: { S: 'a' }, SK: { N: '1' } }), 'a / 1');
  assert.deepEqual([brief(undefined), keyText(undefined)], ['', '']);
});

test('JSON that was typed or imported keeps the digits of its numbers', async () => {
  const { itemOf } = await load('value');
  const long = '12345678901234567890';
  for (const [text, item] of [
    ['{"n": 1, "s": "1"}', { n: { N: '1' }, s: { S: '1' } }],
    [`{"n": ${long}}`, { n: { N: long } }],
    ['{"n": -0.1234567890123456789e-5}', { n: { N: '-0.1234567890123456789e-5' } }],
    [`{"l": [0.5, [${long}], {"a": ${long}}]}`, { l: { L: [{ N: '0.5' }, { L: [{ N: long }] }, { M: { a: { N: long } } }] } }],
    // Digits in names and texts.
    [`{"${long}": "a \\"${long}\\" ${long}"}`, { [long]: { S: `a "${long}" ${long}` } }],
    ['{"\\\\": 1, "a": "\\\\"}', { '\\': { N: '1' }, a: { S: '\\' } }],
    // Values that keep their type, and a map that does not look like one of them.
    [`{"n": {"N": "${long}"}, "s": {"NS": ["1", "2"]}}`, { n: { N: long }, s: { NS: ['1', '2'] } }],
    [`{"a": {"M": {"b": ${long}}}}`, { a: { M: { M: { M: { b: { N: long } } } } } }],
    // Plain JSON whose names are those of types.
    ['{"N": 5, "S": 1}', { N: { N: '5' }, S: { N: '1' } }],
    ['{"a": {"N": 5}, "b": {"S": 1}}', { a: { M: { N: { N: '5' } } }, b: { M: { S: { N: '1' } } } }],
    [`{"a": {"N": ${long}}}`, { a: { M: { N: { N: long } } } }],
    ['{"a": {"SS": "x"}, "b": {"SS": ["x", 1]}}', { a: { M: { SS: { S: 'x' } } }, b: { M: { SS: { L: [{ S: 'x' }, { N: '1' }] } } } }],
    ['{"a": {"M": {"N": {"x": 1}}}}', { a: { M: { M: { M: { N: { M: { x: { N: '1' } } } } } } } }],
  ]) assert.deepEqual(itemOf(text), item, text);
  for (const text of [`{"n": 0${long}}`, '', '5', 'null', '[]', '"a"']) assert.throws(() => itemOf(text), SyntaxError);
});

test('numbers, lengths and prices are put into words', async () => {
  const { bytes, count, dollars, length, moment, seconds, timeOfDay, units } = await load('words');
  for (const [said, wanted] of [
    [length(0), '0 ms'], [length(999.4), '999 ms'], [length(-1_000), '1 s'], [length(1_549), '1.5 s'],
    [length(60_000), '1 min'], [length(90_000), '1 min 30 s'], [length(7_260_000), '2 h 1 min'], [length(97_200_000), '1 d 3 h'],
    [length(86_400_000 + 60_000), '1 d'], [seconds(0.25), '250 ms'], [seconds(3_600), '1 h'],
    [bytes(1_023), '1023 B'], [bytes(1_024), '1 KB'], [bytes(1_536), '1.5 KB'], [bytes(20 * 1_024), '20 KB'],
    [bytes(1_024 ** 2), '1 MB'], [bytes(2.5 * 1_024 ** 3), '2.5 GB'],
    [count(1, 'item'), '1 item'], [count(0, 'item'), '0 items'], [count(1_234, 'entry', 'entries'), '1,234 entries'],
    [units(2_000), '2,000'], [units(0.5), '0.5'],
    [dollars(0), '$0'], [dollars(0.01), '$0.01'], [dollars(12.345), '$12.35'], [dollars(0.005), '$0.0050'],
    [dollars(1.25e-7), '$1.2·10⁻⁷'], [dollars(3.1e-12), '$3.1·10⁻¹²'],
    [moment(Date.UTC(2026, 0, 2, 3, 4, 5, 6)), '2026-01-02 03:04:05'], [timeOfDay(Date.UTC(2026, 0, 2, 3, 4, 5, 6)), '03:04:05.006'],
  ]) assert.equal(said, wanted);
});

const CREATION = {
  KeySchema: [{ AttributeName: 'PK' }, { AttributeName: 'SK' }],
  AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }, { AttributeName: 'SK', AttributeType: 'N' }, { AttributeName: 'on', AttributeType: 'B' }],
  GlobalSecondaryIndexes: [{ IndexName: 'by-on', KeySchema: [{ AttributeName: 'on' }], Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['a'] } }],
  LocalSecondaryIndexes: [{ IndexName: 'local', KeySchema: [{ AttributeName: 'PK' }, { AttributeName: 'on' }] }],
  ProvisionedThroughput: { ReadCapacityUnits: 3, WriteCapacityUnits: 4 },
  StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
};

test('a table’s definition follows from the requests about it', async () => {
  const { after: next, defined } = await load('definitions');
  const made = next(undefined, 'CreateTable', CREATION);
  assert.deepEqual(made, {
    keys: [{ name: 'PK', type: 'S' }, { name: 'SK', type: 'N' }],
    indexes: [
      { name: 'by-on', kind: 'global', keys: [{ name: 'on', type: 'B' }], projection: 'INCLUDE', included: ['a'], status: undefined },
      { name: 'local', kind: 'local', keys: [{ name: 'PK', type: 'S' }, { name: 'on', type: 'B' }], projection: 'ALL', included: [], status: undefined },
    ],
    provisioned: { read: 3, write: 4 },
    ttl: undefined,
    stream: 'KEYS_ONLY',
  });
  const names = ({ indexes }) => indexes.map(({ name }) => name);
  for (const [operation, body, part, wanted] of [
    ['DeleteTable', {}, (definition) => definition, undefined],
    ['PutItem', {}, (definition) => definition, made],
    ['UpdateTimeToLive', { TimeToLiveSpecification: { AttributeName: 'ends', Enabled: true } }, ({ ttl }) => ttl, 'ends'],
    ['UpdateTimeToLive', { TimeToLiveSpecification: { AttributeName: 'ends', Enabled: false } }, ({ ttl }) => ttl, undefined],
    ['UpdateTable', {}, (definition) => definition, made],
    ['UpdateTable', { BillingMode: 'PAY_PER_REQUEST' }, ({ provisioned }) => provisioned, undefined],
    ['UpdateTable', { ProvisionedThroughput: { ReadCapacityUnits: 9, WriteCapacityUnits: 8 } }, ({ provisioned }) => provisioned, { read: 9, write: 8 }],
    ['UpdateTable', { StreamSpecification: { StreamEnabled: false } }, ({ stream }) => stream, undefined],
    ['UpdateTable', { ReplicaUpdates: [{ Create: { RegionName: 'eu-west-1' } }] }, ({ stream }) => stream, 'KEYS_ONLY'],
    ['UpdateTable', { GlobalSecondaryIndexUpdates: [{ Delete: { IndexName: 'by-on' } }] }, names, ['local']],
    [
      'UpdateTable',
      { AttributeDefinitions: CREATION.AttributeDefinitions, GlobalSecondaryIndexUpdates: [{ Create: { ...CREATION.GlobalSecondaryIndexes[0], IndexName: 'new' } }] },
      ({ indexes }) => indexes.at(-1),
      { ...made.indexes[0], name: 'new' },
    ],
  ]) {
    const definition = next(made, operation, body);
    assert.deepEqual(definition && part(definition), wanted, `${operation} ${JSON.stringify(body)}`);
  }
  const replicated = { ReplicaUpdates: [{ Create: { RegionName: 'eu-west-1' } }] };
  assert.equal(next({ ...made, stream: undefined }, 'UpdateTable', replicated).stream, 'NEW_AND_OLD_IMAGES');
  assert.equal(next({ ...made, stream: undefined }, 'UpdateTable', { ReplicaUpdates: [{ Delete: {} }] }).stream, undefined);
  assert.equal(next(undefined, 'UpdateTable', {}), undefined);
  // A description has its billing mode elsewhere, and units of zero.
  const described = { ...CREATION, BillingModeSummary: { BillingMode: 'PAY_PER_REQUEST' }, StreamSpecification: { StreamEnabled: false, StreamViewType: 'KEYS_ONLY' } };
  assert.deepEqual([defined(described).provisioned, defined(described).stream], [undefined, undefined]);
});

test('tables are shown with their status, also those whose heat is not read', async () => {
  const { Tables } = await load('tables');
  const statuses = ['ACTIVE', 'CREATING', 'UPDATING', 'DELETING', 'ACTIVE', 'ACTIVE', 'ACTIVE', 'UPDATING'];
  const described = { Table: { KeySchema: [{ AttributeName: 'PK' }], AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }] }, TimeToLiveDescription: {} };
  const tables = new Tables({
    isTab: false,
    feed: { listen: () => {} },
    transport: { handle: async () => ({ status: 200, headers: {}, body: new TextEncoder().encode(JSON.stringify(described)) }) },
    control: {
      tables: async () => statuses.map((status, at) => ({ table: `t${at}`, ...OWNER, status, items: 0, bytes: 0 })),
      of: () => ({ heat: async () => undefined, pending: async () => ({ statusChange: '2026-01-01T00:00:30Z' }) }),
    },
  });
  await tables.refresh();
  assert.deepEqual(tables.list.value.map(({ status }) => status), statuses);
});

test('members of requests become options as the AWS CLI names them', async () => {
  const { COPIES, rememberRequests } = await load('ui/copies');
  const body = { TableName: 'T', SSESpecification: { Enabled: true }, S3SseKmsKeyId: 'k', DeletionProtectionEnabled: false };
  const requests = [{ operation: 'CreateTable', request: { body: JSON.stringify(body), truncated: false } }];
  await rememberRequests({ feed: { requests: { value: [] } }, control: { requests: async () => requests } });
  const names = [...COPIES.CLI().matchAll(/--([\w-]+)/g)].map(([, name]) => name);
  assert.deepEqual(names, ['endpoint-url', 'table-name', 'sse-specification', 's3-sse-kms-key-id', 'no-deletion-protection-enabled']);
});

/** An app with these items in its table, which notes the requests that are sent. */
function fakeApp(items, answers = []) {
  const sent = [];
  const waits = [];
  const pages = async ({ limit, after: from = '0' }) => {
    const page = items.slice(Number(from), Number(from) + Math.min(limit, 40));
    const end = Number(from) + page.length;
    return { items: page.map((item) => ({ item })), ...(end < items.length ? { next: String(end) } : {}) };
  };
  return {
    sent,
    waits,
    time: {
      now: { value: Date.UTC(2026, 0, 1) },
      settable: { value: true },
      advance: async (milliseconds) => void waits.push(milliseconds),
    },
    controlled: { value: true },
    tables: { list: { value: [] } },
    control: { of: () => ({ items: pages }) },
    request: async (operation, body) => {
      sent.push(body);
      const answer = answers.shift() ?? {};
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

const TABLE = {
  id: 'T', name: 'T', ...OWNER, items: 0, bytes: 0, status: 'ACTIVE', ttl: undefined, stream: undefined, heat: undefined, pending: undefined, replicas: [],
  keys: [{ name: 'PK', type: 'S' }, { name: 'SK', type: 'N' }],
  indexes: [
    { name: 'by-on', kind: 'global', keys: [{ name: 'on', type: 'B' }, { name: 'SK', type: 'N' }], projection: 'INCLUDE', included: ['a'], status: undefined },
    { name: 'local', kind: 'local', keys: [{ name: 'PK', type: 'S' }, { name: 'on', type: 'B' }], projection: 'ALL', included: [], status: undefined },
  ],
  provisioned: { read: 3, write: 4 },
};

test('a data model of the tables makes the same tables and items', async () => {
  const { isModel, modelOf, requestsOf } = await load('workbench');
  const items = Array.from({ length: 60 }, (_, at) => ({ PK: { S: `a${at}` }, SK: { N: '1' }, on: { B: 'YQ==' }, note: { BOOL: true } }));
  const app = fakeApp(items);
  app.tables.list.value = [TABLE, { ...TABLE, name: 'Plain', keys: TABLE.keys.slice(0, 1), indexes: [], provisioned: undefined }];
  const model = await modelOf(app);
  assert.ok(isModel(model) && !isModel({}) && !isModel(null));
  const [first] = model.DataModel;
  assert.deepEqual(first.NonKeyAttributes, [{ AttributeName: 'on', AttributeType: 'B' }, { AttributeName: 'note', AttributeType: 'BOOL' }]);
  assert.deepEqual(first.TableData, items);
  const requests = requestsOf(model);
  const throughput = { ReadCapacityUnits: 3, WriteCapacityUnits: 4 };
  assert.deepEqual(requests[0], [
    'CreateTable',
    {
      TableName: 'T',
      KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }, { AttributeName: 'SK', KeyType: 'RANGE' }],
      ProvisionedThroughput: throughput,
      GlobalSecondaryIndexes: [
        {
          IndexName: 'by-on',
          KeySchema: [{ AttributeName: 'on', KeyType: 'HASH' }, { AttributeName: 'SK', KeyType: 'RANGE' }],
          Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['a'] },
          ProvisionedThroughput: throughput,
        },
      ],
      LocalSecondaryIndexes: [
        { IndexName: 'local', KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }, { AttributeName: 'on', KeyType: 'RANGE' }], Projection: { ProjectionType: 'ALL' } },
      ],
      AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }, { AttributeName: 'SK', AttributeType: 'N' }, { AttributeName: 'on', AttributeType: 'B' }],
    },
  ]);
  const batches = requests.filter(([operation, body]) => operation === 'BatchWriteItem' && body.RequestItems.T).map(([, body]) => body.RequestItems.T.map(({ PutRequest }) => PutRequest.Item));
  assert.deepEqual(batches.map(({ length }) => length), [25, 25, 10]);
  assert.deepEqual(batches.flat(), items);
  const [, plain] = requests.find(([, body]) => body.TableName === 'Plain');
  assert.deepEqual(plain, {
    TableName: 'Plain',
    KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }],
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }],
  });
});

test('items are read from files in each format', async () => {
  const { exported, imported } = await load('bulk');
  const item = { PK: { S: 'a' }, n: { N: '1' } };
  for (const text of ['{"PK":"a","n":1}', '[{"PK":"a","n":1}]', '{"PK":{"S":"a"},"n":{"N":"1"}}', '{"Item":{"PK":{"S":"a"},"n":{"N":"1"}}}\n\n', '\n {"Item":{"PK":"a","n":1}}']) {
    assert.deepEqual(imported(text), [item], text);
  }
  // An attribute of this name.
  for (const [text, wanted] of [
    ['{"PK":"a","Item":"pen"}', { PK: { S: 'a' }, Item: { S: 'pen' } }],
    ['{"PK":"a","Item":{"n":1}}', { PK: { S: 'a' }, Item: { M: { n: { N: '1' } } } }],
    ['{"PK":{"S":"a"},"Item":{"S":"pen"}}', { PK: { S: 'a' }, Item: { S: 'pen' } }],
    ['{"Item":"pen"}', { Item: { S: 'pen' } }],
    ['{"Item":[1]}', { Item: { L: [{ N: '1' }] } }],
    ['{"Item":null}', { Item: { NULL: true } }],
    ['{"Item":{"Item":"pen"}}', { Item: { S: 'pen' } }],
  ]) assert.deepEqual(imported(text), [wanted], text);
  assert.equal(exported([item, item]), '{"Item":{"PK":{"S":"a"},"n":{"N":"1"}}}\n'.repeat(2));
  assert.deepEqual(imported(exported([item, { PK: { NULL: true } }])), [item, { PK: { NULL: true } }]);
  assert.deepEqual(imported('{"PK":{"S":"a"},"n":1}'), [{ PK: { M: { S: { S: 'a' } } }, n: { N: '1' } }], 'one attribute without a type');
  assert.deepEqual(imported('{"PK":"a","n":12345678901234567890}'), [{ PK: { S: 'a' }, n: { N: '12345678901234567890' } }]);
  assert.deepEqual(imported('[{"PK":"a","n":0.12345678901234567890}]'), [{ PK: { S: 'a' }, n: { N: '0.12345678901234567890' } }]);
  assert.deepEqual(imported('{"PK":{"S":"a"},"n":12345678901234567890}'), [{ PK: { M: { S: { S: 'a' } } }, n: { N: '12345678901234567890' } }], 'one attribute without a type');
  for (const [text, wanted] of [
    ['{"N":5}', { N: { N: '5' } }],
    ['{"PK":{"N":5}}', { PK: { M: { N: { N: '5' } } } }],
    ['{"PK":{"S":1}}', { PK: { M: { S: { N: '1' } } } }],
    ['{"PK":{"L":[{"S":1}]}}', { PK: { M: { L: { L: [{ M: { S: { N: '1' } } }] } } } }],
    ['{"PK":{"M":{"a":1}}}', { PK: { M: { M: { M: { a: { N: '1' } } } } } }],
    ['{"PK":{"L":[{"S":"1"}]}}', { PK: { L: [{ S: '1' }] } }],
  ]) assert.deepEqual(imported(text), [wanted], text);
  assert.deepEqual(imported('{"PK":{"S":"a","more":1}}'), [{ PK: { M: { S: { S: 'a' }, more: { N: '1' } } } }]);
});

test('items with one key are written in different batches, in their order', async () => {
  const { writeItems } = await load('bulk');
  const put = (PK, SK, note) => ({ PutRequest: { Item: { PK: { S: PK }, SK: { N: SK }, note: { S: note } } } });
  const remove = (PK, SK) => ({ DeleteRequest: { Key: { SK: { N: SK }, PK: { S: PK } } } });
  for (const [entries, lengths] of [
    [[put('a', '1', 'x'), put('a', '2', 'y'), put('b', '1', 'z')], [3]],
    [[put('a', '1', 'x'), put('b', '1', 'x'), put('a', '1', 'y'), put('b', '1', 'y'), put('a', '1', 'z')], [2, 2, 1]],
    [[put('a', '1', 'x'), put('a', '1.0', 'y')], [1, 1]],
    [[put('a', '1', 'x'), remove('a', '1')], [1, 1]],
    [Array.from({ length: 30 }, (_, at) => put('a', String(at % 28), 'x')), [25, 5]],
  ]) {
    const app = fakeApp([]);
    await writeItems(app, TABLE, entries);
    const batches = app.sent.map(({ RequestItems }) => RequestItems.T);
    assert.deepEqual(batches.map(({ length }) => length), lengths);
    assert.deepEqual(batches.flat(), entries);
  }
});

test('batches are sent again until every item is written', async () => {
  const { writeItems } = await load('bulk');
  const entries = Array.from({ length: 30 }, (_, at) => ({ DeleteRequest: { Key: { PK: { N: String(at) } } } }));
  const throttled = await refusal('ProvisionedThroughputExceededException');
  const app = fakeApp([], [throttled, { UnprocessedItems: { T: entries.slice(3, 5) } }, { UnprocessedItems: {} }]);
  await writeItems(app, TABLE, entries);
  assert.deepEqual(app.sent.map(({ RequestItems }) => RequestItems.T), [entries.slice(0, 25), entries.slice(0, 25), entries.slice(3, 5), entries.slice(25)]);
  assert.deepEqual(app.waits, [1_000, 1_000]);
  for (const [name, status] of [['ThrottlingException', 400], ['InternalServerError', 500]]) {
    const again = fakeApp([], [await refusal(name, status), {}]);
    await writeItems(again, TABLE, entries.slice(0, 1));
    assert.equal(again.sent.length, 2, name);
  }
  const refused = fakeApp([], [await refusal('ValidationException')]);
  await assert.rejects(writeItems(refused, TABLE, entries), { name: 'ValidationException' });
  const never = fakeApp([], Array(200).fill({ UnprocessedItems: { T: entries.slice(0, 2) } }));
  await assert.rejects(writeItems(never, TABLE, entries), /2 items were throttled 100 times/);
});

test('a session survives its link, and other values are none', async () => {
  const { checked, fromFragment, toFragment } = await load('session');
  const { packed, unpacked } = await load('encode');
  const step = (code) => ({ at: 5, act: { do: 'run', code } });
  const session = { version: 2, seed: 7, code: 'a()', script: [step('a()'), step('b()'), { at: 6, act: { do: 'stop' } }], until: 12 };
  const fragment = await toFragment(session);
  assert.match(fragment, /^s=[\w-]+$/);
  assert.deepEqual(await fromFragment(`#${fragment}`), session);
  assert.equal((await toFragment({ ...session, script: [step('a()')] })).length, (await toFragment({ ...session, script: [{ at: 5, act: { do: 'run' } }] })).length, 'the code is not repeated');
  for (const text of ['', '#', '#s=', '#s=abc', '#t=abc', `${fragment}!`]) assert.equal(await fromFragment(text), undefined, text);
  const base = { snapshot: 'x', definitions: [], opened: false };
  assert.deepEqual(checked({ ...session, base }), { ...session, base });
  for (const change of [{ version: 1 }, { seed: 1.5 }, { until: null }, { code: undefined }, { script: {} }, { script: [{ at: 'x', act: { do: 'stop' } }] }, { script: [{ at: 1 }] }, { base: {} }, { base: { snapshot: 'x' } }]) {
    assert.equal(checked({ ...session, ...change }), undefined, JSON.stringify(change));
  }
  assert.deepEqual([checked(null), checked('x'), checked(undefined)], [undefined, undefined, undefined]);
  // All bytes, so that both letters of base64 that addresses do not have occur more than once.
  const bytes = Uint8Array.from({ length: 4_096 }, (_, at) => (at * 167 + (at >> 3) * 31) % 256);
  const text = await packed(bytes);
  assert.ok(/-.*-/.test(text) && /_.*_/.test(text) && /^[\w-]+$/.test(text));
  assert.deepEqual(await unpacked(text), bytes);
});

const logged = (number, accessKey = 'mine', more = {}) => ({ number, caller: { accessKey, region: 'us-east-1' }, tables: ['T'], ...more });

test('the log is read once, without the page’s own requests', async () => {
  const { Feed } = await load('feed');
  const all = Array.from({ length: 2_500 }, (_, at) => logged(at + 1, at % 5 === 0 ? 'dynatwin-ui' : 'mine'));
  all[2_300] = logged(2_301, 'mine', { error: 'ResourceNotFoundException', tables: ['Missing'] });
  all[2_400] = logged(2_401, 'mine', { error: 'ResourceNotFoundException', tables: [] });
  const asked = [];
  let events = [];
  const feed = new Feed({
    requests: async ({ after: last, limit }) => (asked.push(last), all.filter(({ number }) => number > last).slice(0, limit)),
    events: async (from, limit) => ({ events: events.slice(from, from + limit), next: Math.min(events.length, from + limit) }),
  });
  const heard = [];
  const watched = [];
  feed.listen(({ number }) => heard.push(number));
  const leave = feed.watch(({ kind }) => watched.push(kind));
  const side = (region) => ({ region, at: '2026-01-01T00:00:00Z' });
  const conflict = { kind: 'replicationConflict', at: 'x', accessKey: 'mine', table: 'T', key: { PK: { S: 'a' } }, lost: side('a'), won: side('b') };
  events = [conflict, { ...conflict, at: 'y' }, { ...conflict, table: 'U' }, { ...conflict, accessKey: 'other' }, { kind: 'staleRead', request: 7, age: 1.5 }, { ...conflict, key: undefined }];
  assert.equal(await feed.refresh(), true);
  assert.deepEqual(asked, [0, 1_000, 2_000]);
  const own = all.filter(({ caller }) => caller.accessKey === 'mine').map(({ number }) => number);
  assert.deepEqual([heard, feed.seen], [own, own.length]);
  assert.deepEqual(feed.requests.value.map(({ number }) => number), own.slice(-2_000));
  assert.deepEqual(feed.conflicts.value.map(({ at, table, accessKey }) => [at, table, accessKey]), [['x', 'T', 'mine'], ['x', 'U', 'mine'], ['x', 'T', 'other']]);
  assert.deepEqual([...feed.ages.value], [[7, 1.5]]);
  assert.deepEqual(watched, events.map(({ kind }) => kind));
  assert.equal(feed.lastOfMissingTable().number, 2_301);

  leave();
  assert.equal(await feed.refresh(), false, 'nothing is new');
  events.push({ ...conflict, at: 'z' }, { kind: 'staleRead', request: 9, age: 2 });
  assert.equal(await feed.refresh(), true);
  assert.deepEqual([feed.conflicts.value.length, [...feed.ages.value], watched.length], [3, [[7, 1.5], [9, 2]], 6]);
  assert.equal(heard.length, own.length);
  events.push(...Array.from({ length: 1_500 }, (_, at) => ({ kind: 'staleRead', request: 10 + at, age: 1 })));
  await feed.refresh();
  assert.equal(feed.ages.value.size, 1_502, 'all that is new is read at once');
  feed.clear();
  assert.deepEqual([feed.seen, feed.requests.value, feed.conflicts.value, feed.ages.value.size], [0, [], [], 0]);
  await feed.refresh();
  assert.equal(feed.seen, own.length, 'the log is read from its start');
});

test('tables of other accounts and regions are told apart', async () => {
  const { idOf, Tables } = await load('tables');
  assert.deepEqual([idOf('T', OWNER), idOf('T', {}), idOf('T', { accessKey: 'a' })], ['playground us-east-1 T', 'T', 'T']);
  const tables = new Tables({ feed: { listen: () => {} } });
  const view = (name, accessKey, region) => ({ ...TABLE, id: `${accessKey} ${region} ${name}`, name, accessKey, region });
  const [here, there, theirs] = [view('T', 'playground', 'us-east-1'), view('T', 'playground', 'eu-west-1'), view('T', 'other', 'eu-west-1')];
  for (const [list, labels] of [[[here], ['T']], [[here, there], ['T (us-east-1)', 'T (eu-west-1)']], [[here, theirs], ['T (playground, us-east-1)', 'T (other, eu-west-1)']]]) {
    tables.list.value = list;
    assert.deepEqual(list.map((table) => tables.label(table)), labels);
  }
  tables.list.value = [theirs, there, here];
  assert.equal(tables.current.value, here, 'the default region');
  tables.select('T', { accessKey: 'other', region: 'eu-west-1' });
  assert.equal(tables.current.value, theirs);
  assert.equal(tables.find('T', { accessKey: 'playground', region: 'eu-west-1' }), there);
  assert.equal(tables.find('T', { accessKey: 'none', region: 'eu-west-1' }), undefined);
  tables.hide([there.id]);
  assert.deepEqual(tables.list.value, [theirs, here]);
});

test('a replica has the definition of its table, not of another table of its name', async () => {
  const { Tables } = await load('tables');
  const definition = (key) => ({ keys: [{ name: key, type: 'S' }], indexes: [], provisioned: undefined, ttl: undefined, stream: undefined });
  const entry = (accessKey, region, table = 'T') => ({ table, accessKey, region, items: 0, bytes: 0 });
  const shown = { heat: async () => undefined, pending: async () => undefined, replication: async () => [] };
  const entries = [entry('mine', 'eu-west-1'), entry('other', 'eu-west-1')];
  const tables = new Tables({ feed: { listen: () => {} }, isTab: true, control: { tables: async () => entries, of: () => shown } });
  tables.adopt([['third us-east-1 T', definition('c')], ['mine us-east-1 T2', definition('d')], ['other us-east-1 T', definition('b')], ['mine us-east-1 T', definition('a')]]);
  await tables.refresh();
  assert.deepEqual(tables.list.value.map(({ id, keys: [key] }) => [id, key.name]), [['mine eu-west-1 T', 'a'], ['other eu-west-1 T', 'b']]);
});

test('the clock moves from event to event, and those moves end that were asked for before', async () => {
  const { Timeline } = await load('timeline');
  const { START } = await load('session');
  let queue = Promise.resolve();
  const stops = [];
  const timers = [START + 20, START + 60_000];
  const time = new Timeline({
    control: { setClock: async (milliseconds) => (stops.push(milliseconds - START), { milliseconds, settable: true, nextDue: milliseconds < START + 5 ? new Date(START + 5).toISOString() : undefined }) },
    ready: async () => {},
    serially: (work) => (queue = queue.then(work)),
    tick: async (moment) => timers.find((timer) => timer > moment),
    moved: () => {},
  });
  await time.advance(10);
  await time.advance(15);
  assert.deepEqual(stops, [10, 20, 25]);
  await time.advanceTo(START);
  assert.equal(time.moment, START + 25, 'the clock does not go back');
  await time.advanceUntil(() => time.moment >= START + 60_000, 1e9);
  assert.deepEqual([time.now.value, stops.at(-1), time.next.value], [START + 60_000, 60_000, undefined]);

  time.playing.value = true;
  const moves = [time.advance(1), time.advance(1), time.advanceTo(START + 70_000)];
  time.halt();
  moves.push(time.advance(3));
  await Promise.all(moves);
  assert.deepEqual([time.moment, time.playing.value, time.moving.value, time.target.value], [START + 60_003, false, false, undefined]);
});

test('a move that the user has asked for stops only where the code continues', async () => {
  const { Timeline } = await load('timeline');
  const { START } = await load('session');
  const stops = [];
  const time = new Timeline({
    control: { setClock: async (milliseconds) => (stops.push(milliseconds - START), { milliseconds, settable: true, nextDue: new Date(milliseconds + 2).toISOString() }) },
    ready: async () => {},
    serially: (work) => work(),
    tick: async (moment) => (moment < START + 17 ? START + 17 : undefined),
    moved: () => {},
  });
  await time.advanceTo(START + 10);
  await time.advanceTo(START + 13);
  assert.deepEqual(stops.splice(0), [10, 12, 13]);
  await time.advance(20);
  assert.deepEqual(stops, [17, 33]);
});

test('timers fire in order, at moments of the emulator’s clock', async () => {
  const { EmulatorClock } = await load('run/clock');
  const clock = new EmulatorClock();
  clock.begin(1_000, true);
  const fired = [];
  const note = (name) => () => fired.push(`${name} ${clock.now}`);
  clock.set(note('late'), 20);
  clock.set(note('soon'), 5);
  clock.set(note('same'), 5);
  clock.set(note('now'), -3);
  clock.set(note('odd'), NaN);
  const every = clock.set(note('every'), 8, 8);
  const cancelled = clock.set(note('cancelled'), 6);
  clock.clear({ [Symbol.toPrimitive]: () => cancelled });
  assert.equal(clock.waiting, 6);
  assert.equal(await clock.tick(1_000), 1_005);
  assert.deepEqual(fired.splice(0), ['now 1000', 'odd 1000']);
  assert.equal(await clock.tick(1_005), 1_008);
  assert.deepEqual(fired.splice(0), ['soon 1005', 'same 1005']);
  assert.equal(await clock.tick(1_016), 1_020);
  assert.deepEqual(fired.splice(0), ['every 1016', 'every 1016']);
  clock.clear(every);
  assert.equal(await clock.tick(1_100), undefined);
  assert.deepEqual([fired, clock.waiting, clock.elapsed], [['late 1100'], 0, 100]);
  // Time stands still while a request is under way.
  let answer;
  const work = clock.during(new Promise((resolve) => (answer = resolve)));
  const ticked = clock.tick(1_200).then(() => 'ticked');
  assert.deepEqual([clock.waiting, await Promise.race([ticked, new Promise((done) => setTimeout(done, 30, 'waits'))])], [1, 'waits']);
  answer(3);
  assert.deepEqual([await work, await ticked, clock.waiting], [3, 'ticked', 0]);
  await assert.rejects(clock.during(Promise.reject(new Error('no'))), /no/);
  assert.equal(clock.waiting, 0);
});

test('the code’s Date, timers and timeouts follow the emulator’s clock', async () => {
  const { EmulatorClock } = await load('run/clock');
  const clock = new EmulatorClock();
  clock.begin(Date.UTC(2026, 0, 1), true);
  const [real, timeout] = [globalThis.performance, AbortSignal.timeout];
  const scope = {};
  globalThis.performance = {};
  try {
    clock.install(scope);
    const fired = [];
    scope.setTimeout((...parts) => fired.push(parts), 10, 'a', 'b');
    scope.setImmediate((part) => fired.push([part]), 'c');
    scope.clearTimeout(scope.setTimeout(() => fired.push('cancelled'), 1));
    const timer = scope.setInterval(() => fired.push('every'), 4);
    const signal = AbortSignal.timeout(6);
    await clock.tick(clock.now + 5);
    assert.deepEqual([fired, signal.aborted], [[['c'], 'every'], false]);
    timer.close();
    await clock.tick(clock.now + 5);
    assert.deepEqual([fired.slice(2), signal.aborted, signal.reason.name], [[['a', 'b']], true, 'TimeoutError']);
    assert.deepEqual([scope.Date.now(), new scope.Date().getTime(), new scope.Date(5).getTime(), performance.now()], [clock.now, clock.now, 5, 10]);
    assert.equal(typeof scope.Date(), 'string');
    assert.ok(new scope.Date() instanceof Date);
  } finally {
    globalThis.performance = real;
    AbortSignal.timeout = timeout;
  }
});

test('values are printed as Node prints them', async () => {
  const { format, inspect } = await load('run/inspect');
  const circular = { a: 1 };
  circular.self = circular;
  for (const [value, text] of [
    ["it's", `"it's"`], [`it's "a"`, `'it\\'s "a"'`], ['a\nb', "'a\\nb'"], ["it's\nb\\", `"it's\\nb\\\\"`], ['\\', "'\\\\'"],
    [-0, '-0'], [10n, '10n'], [Symbol('s'), 'Symbol(s)'], [undefined, 'undefined'],
    [function named() {}, '[Function: named]'], [() => {}, '[Function (anonymous)]'], [class Shape {}, '[class: Shape]'],
    [new Date(0), '1970-01-01T00:00:00.000Z'], [new Date(NaN), 'Invalid Date'], [/a/g, '/a/g'], [Promise.resolve(), 'Promise { <pending> }'],
    [[], '[]'], [{}, '{}'], [[1, 'a'], "[ 1, 'a' ]"], [{ a: { b: null }, 'c-d': 1 }, "{ a: { b: null }, 'c-d': 1 }"],
    [new Map([['a', 1]]), "Map(1) { 'a' => 1 }"], [new Set([1]), 'Set(1) { 1 }'], [new Uint8Array([1, 2]), 'Uint8Array(2) [ 1, 2 ]'],
    [circular, '{ a: 1, self: [Circular] }'], [{ a: { b: { c: { d: { e: 1 } } } } }, '{ a: { b: { c: { d: [Object] } } } }'],
    [Object.assign(new Error('bad'), { name: 'Odd', code: 7, $metadata: { attempts: 2 } }), 'Odd: bad { code: 7, $metadata: { attempts: 2 } }'],
    [Array(101).fill(0), `[\n${'  0,\n'.repeat(100)}  … 1 more\n]`],
  ]) assert.equal(inspect(value), text);
  for (const [parts, text] of [
    [['a', 1, { b: 2 }], 'a 1 { b: 2 }'], [[1, 'a'], '1 a'], [['%s is %d%%', 'x', '5', 'more'], 'x is 5% more'], [['%i %f', '3.9', '1.5'], '3 1.5'],
    [['%j', { a: 1 }], '{"a":1}'], [['%o %s', [1]], '[ 1 ] %s'], [['%cstyled', 'color: red'], 'styled'],
  ]) assert.equal(format(parts), text);
});

test('assertions of the code decide as Node’s', async () => {
  const own = await load('run/assert');
  for (const [one, other, same] of [
    [NaN, NaN, true], [{ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, true], [{ a: undefined }, {}, false], [{}, { a: undefined }, false],
    [{ a: undefined }, { b: undefined }, false], [[1, 2], [2, 1], false], [[], {}, false], [new Date(1), new Date(2), false], [new Date(1), new Date(1), true],
    [new Set([1]), new Set([1]), true], [new Set([1]), new Set([2]), false], [new Map([[1, 2]]), new Map([[1, 3]]), false], [null, {}, false],
  ]) assert.equal(own.isDeepEqual(one, other), same);
  const bad = Object.assign(new TypeError('bad'), { code: 7 });
  const work = () => { throw bad; };
  for (const [expected, holds] of [[undefined, true], [/bad/, true], [/good/, false], [TypeError, true], [RangeError, false], [(error) => error === bad, true], [() => false, false], [{ code: 7, message: /^bad$/ }, true], [{ code: 8 }, false]]) {
    if (holds) {
      own.throws(work, expected);
      await own.rejects(async () => work(), expected);
    } else {
      assert.throws(() => own.throws(work, expected), own.AssertionError);
      await assert.rejects(own.rejects(async () => work(), expected), own.AssertionError);
    }
  }
  assert.throws(() => own.throws(() => {}), { code: 'ERR_ASSERTION' });
  await assert.rejects(own.rejects(Promise.resolve()), { code: 'ERR_ASSERTION' });
  assert.throws(() => own.equal(1, '1', 'mine'), { message: 'mine', actual: 1, expected: '1' });
  assert.throws(() => own.ok(0, bad), bad);
});

const reply = (kind, at = 0) => ({ status: 200, headers: {}, body: new Uint8Array(), at, delivery: { kind } });

test('answers reach the code late, broken or never, as the engine defines', async () => {
  const { EmulatorClock } = await load('run/clock');
  const { Connection } = await load('run/handler');
  for (const [answer, timeout, wanted, at] of [
    [reply('whole'), 50, { status: 200 }, 1_000],
    [reply('whole', 1_050), 50, { status: 200 }, 1_050],
    [reply('whole', 1_051), 50, { name: 'TimeoutError', code: 'ETIMEDOUT' }, 1_050],
    [reply('whole', 1_051), 0, { status: 200 }, 1_051],
    [reply('reset', 1_020), 50, { name: 'Error', code: 'ECONNRESET' }, 1_020],
    [reply('truncated'), 50, { name: 'Error', code: 'ECONNRESET' }, 1_000],
    [reply('lost'), 50, { name: 'TimeoutError', code: 'ETIMEDOUT' }, 1_050],
  ]) {
    const clock = new EmulatorClock();
    clock.begin(1_000, true);
    const connection = new Connection(clock, async () => answer);
    let ended;
    const settled = connection.request('POST', '/', {}, '{}', undefined, timeout).then((it) => it, (error) => error).then((it) => ((ended = clock.now), it));
    for (let next = await clock.tick(clock.now); next !== undefined && ended === undefined; next = await clock.tick(next));
    const { status, name, code } = await settled;
    assert.deepEqual([{ ...(status && { status }), ...(name && { name }), ...(code && { code }) }, ended], [wanted, at], `${answer.delivery.kind} at ${answer.at}`);
  }
  const clock = new EmulatorClock();
  clock.begin(1_000, true);
  const connection = new Connection(clock, async () => reply('lost'));
  const stop = new AbortController();
  const waiting = connection.request('POST', '/', {}, '{}', stop.signal, 0);
  await clock.tick(1_000);
  stop.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  await assert.rejects(connection.request('POST', '/', {}, '{}', stop.signal), { name: 'AbortError' });
  await assert.rejects(connection.fetch('https://example.com/'), /reaches the emulator alone, not example.com/);
});

test('the code fetches addresses and requests', async () => {
  const { EmulatorClock } = await load('run/clock');
  const { Connection } = await load('run/handler');
  const clock = new EmulatorClock();
  clock.begin(1_000, true);
  const sent = [];
  const connection = new Connection(clock, async (method, path, headers, body) => {
    const text = body === undefined ? undefined : typeof body === 'string' ? body : new TextDecoder().decode(body);
    sent.push([method, path, headers['x-amz-target'], text]);
    return reply('whole');
  });
  const url = 'http://localhost:8000/a?b=c';
  const post = { method: 'POST', headers: { 'x-amz-target': 'List' }, body: '{}' };
  for (const [input, init, wanted] of [
    [url, undefined, ['GET', '/a?b=c', undefined, undefined]],
    [new URL(url), post, ['POST', '/a?b=c', 'List', '{}']],
    [new Request(url), undefined, ['GET', '/a?b=c', undefined, undefined]],
    [new Request(url, post), undefined, ['POST', '/a?b=c', 'List', '{}']],
    [new Request(url, post), { headers: { 'x-amz-target': 'Get' }, body: '{"a":1}' }, ['POST', '/a?b=c', 'Get', '{"a":1}']],
    [new Request(url, post), { method: 'PUT' }, ['PUT', '/a?b=c', 'List', '{}']],
  ]) {
    const { status } = await connection.fetch(input, init);
    assert.deepEqual([status, sent.pop()], [200, wanted]);
  }
  const stop = new AbortController();
  stop.abort();
  await assert.rejects(connection.fetch(new Request(url, { signal: stop.signal })), { name: 'AbortError' });
});

test('against a server, the code’s requests are sent without its host, and answers come without the server’s date', async () => {
  const { overFetch } = await load('run/handler');
  const sent = [];
  let log = { seen: 4, requests: [] };
  let fails = false;
  const send = overFetch('http://server', async (url, init = {}) => {
    if (url.includes('/_dynatwin/requests')) return Response.json(log);
    sent.push([url, init.method, init.headers, init.body]);
    if (fails) throw new TypeError('failed');
    if (init.headers['x-amz-target']?.endsWith('.Lost')) return new Promise((_, reject) => init.signal.addEventListener('abort', () => reject(init.signal.reason)));
    return new Response('ok', { status: 201, headers: { date: 'x', 'x-amz-crc32': '1' } });
  });
  const { status, headers, body } = await send('GET', '/a?b', { host: 'h', 'x-a': '1' }, 'body');
  assert.deepEqual([status, headers['x-amz-crc32'], headers.date, new TextDecoder().decode(body)], [201, '1', undefined, 'ok']);
  assert.deepEqual(sent[0], ['http://server/a?b', 'GET', { 'x-a': '1' }, undefined]);
  fails = true;
  assert.deepEqual((await send('POST', '/', {}, 'x')).delivery, { kind: 'reset' });
  fails = false;
  // The log says which of the requests in progress the server will never answer.
  const credential = { authorization: 'AWS4-HMAC-SHA256 Credential=me/20260101/us-east-1/dynamodb/aws4_request' };
  const lost = send('POST', '/', { 'x-amz-target': 'DynamoDB_20120810.Lost', ...credential }, '{}');
  const entry = (operation, accessKey, kind) => ({ number: 5, operation, caller: { accessKey }, delivery: { kind } });
  log = { seen: 5, requests: [entry('Other', 'me', 'lost'), entry('Lost', 'you', 'lost'), entry('Lost', 'me', 'whole')] };
  assert.equal(await Promise.race([lost, new Promise((done) => setTimeout(done, 700, 'waits'))]), 'waits');
  log = { seen: 6, requests: [entry('Other', 'me', 'lost'), entry('Lost', 'me', 'lost')] };
  assert.deepEqual((await lost).delivery, { kind: 'lost' });
});

test('errors of the service have their name and message', async () => {
  const { call, signedHeaders } = await load('transport/dynamodb');
  const answers = (status, body) => ({ handle: async (method, path, headers, text) => ((answers.sent = [method, path, headers['x-amz-target'], text]), { status, headers: {}, body: new TextEncoder().encode(body) }) });
  for (const [status, body, error] of [
    [400, '{"__type":"com.amazonaws.dynamodb.v20120810#ResourceInUseException","message":"in use"}', { name: 'ResourceInUseException', message: 'in use', status: 400 }],
    [400, '{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"denied"}', { name: 'AccessDeniedException', message: 'denied' }],
    [503, 'busy', { name: 'HTTP 503', message: 'busy', status: 503 }],
  ]) await assert.rejects(call(answers(status, body), OWNER, 'GetItem', {}), error);
  const { ServiceError, words } = await load('transport/dynamodb');
  for (const [error, text] of [
    [new ServiceError('AccessDeniedException', 'denied', 400), 'AccessDeniedException: denied'], [new ServiceError('UnknownOperationException', '', 400), 'UnknownOperationException'],
    [new TypeError('no'), 'no'], ['no', 'no'],
  ]) assert.equal(words(error), text);
  assert.deepEqual(await call(answers(200, '{"Count":1}'), OWNER, 'GetItem', { a: 1 }), { Count: 1 });
  assert.deepEqual(answers.sent, ['POST', '/', 'DynamoDB_20120810.GetItem', '{"a":1}']);
  assert.match(signedHeaders({ accessKey: 'me', region: 'eu-west-1' }).authorization, /Credential=me\/20260101\/eu-west-1\/dynamodb\//);
});

/** A request as the log has it. */
const recorded = (more = {}) => ({
  number: 1, at: '2026-01-01T00:00:00Z', operation: 'PutItem', caller: OWNER, tables: ['T'], status: 200, error: undefined, readUnits: 0, writeUnits: 0, scanned: 0, returned: 0,
  delivery: { kind: 'whole' }, accesses: [], request: { body: '{"TableName":"T"}', truncated: false }, response: { body: '{}', truncated: false }, ...more,
});
const access = (act, more = {}) => ({ act, table: 'T', index: undefined, key: { PK: { S: 'a' } }, readUnits: 0, writeUnits: 0, error: undefined, ...more });

test('requests are explained by what they cost, saw and lost', async () => {
  const { explain, expressionsOf } = await load('explain');
  const known = { explanation: undefined, filter: undefined, condition: undefined, tables: [], conditions: undefined, age: undefined, conflicts: [] };
  const lost = { at: 'z', accessKey: OWNER.accessKey, table: 'T', key: { PK: { S: 'a' } }, lost: { region: 'us-east-1', at: '2026-01-01T00:00:00Z' }, won: { region: 'eu-west-1', at: 'z' } };
  const stale = { staleReads: 0.5, readStaleness: 1, indexPropagation: 0 };
  const put = { accesses: [access('Put', { writeUnits: 2 })], writeUnits: 2 };
  for (const [request, context, ...texts] of [
    [put, {}, 'fact: It wrote 1 item for 2 write units.', 'fact: A million such requests cost $1.25 on demand in us-east-1.'],
    [{ ...put, operation: 'TransactWriteItems' }, {}, 'fact: It wrote 1 item for 2 write units; a transaction pays twice, to prepare and to commit.'],
    [put, { tables: [TABLE] }, 'fact: The change reaches by-on after a lag. Units include those of the indexes.'],
    [put, { tables: [TABLE], conditions: stale }, 'fact: The change reaches by-on at once, under these conditions. Units include those of the indexes.'],
    [put, { conflicts: [lost] }, 'problem: The write of a was lost later: eu-west-1 also wrote the item, before it had received this write, and the later write of the two replaces the whole item in all regions.'],
    [{ readUnits: 0.5, accesses: [access('Get', { readUnits: 0.5 })] }, {}, 'fact: A million such requests cost $0.06 on demand in us-east-1.', 'fact: The read is eventually consistent. Under these conditions it is never stale; on AWS it can be.'],
    [{ accesses: [access('Get')] }, { conditions: stale, age: 0.25 }, 'problem: The read was stale: it saw a state that had been replaced 250 ms before. ConsistentRead avoids that.', 'fact: The read is eventually consistent: under these conditions it may return an older state. ConsistentRead avoids that, for twice the units.'],
    [{ accesses: [access('Get')], request: { body: '{"ConsistentRead":true}' } }, { conditions: stale }, 'fact: The read is strongly consistent: it saw every write that had been acknowledged.'],
    [{ operation: 'TransactGetItems', accesses: [access('Get')] }, { conditions: stale }, 'fact: The read is strongly consistent: it saw every write that had been acknowledged.'],
    [{ accesses: [access('Query', { index: 'by-on' })] }, {}, 'fact: Reads of a global index are eventually consistent: they see the changes that have reached the index.'],
    [{ accesses: [access('Put', { error: 'Throttled' }), access('Put', { writeUnits: 1 })], writeUnits: 1 }, {}, 'problem: 1 of 2 entries were not carried out (Throttled). The request still succeeds: send what came back as unprocessed again.', 'fact: It wrote 1 item for 1 write units.'],
    [{ delivery: { kind: 'lost' } }, {}, 'problem: The request was executed, and its answer was lost.'],
    [{ delivery: { kind: 'truncated' } }, {}, 'problem: The answer was not delivered whole: truncated.'],
    [{ status: 400, error: 'ThrottlingException', response: { body: '{"message":"slow"}' } }, {}, 'problem: ThrottlingException: slow', 'advice: The AWS SDKs retry throttled requests by themselves, three attempts in all by default. Larger bursts need more attempts with full jitter, or more capacity.'],
    [{ status: 400, error: 'ConditionalCheckFailedException', response: undefined, accesses: [access('Put', { error: 'x' })] }, {}, 'problem: ConditionalCheckFailedException', 'fact: Nothing was written to a.'],
    [{ status: 400, error: 'TransactionCanceledException', response: { body: '{"Message":"no","CancellationReasons":[{"Code":"None"},{"Code":"ThrottlingError"}]}' } }, {}, 'problem: TransactionCanceledException: no', 'fact: Action 2 was the reason: ThrottlingError.'],
  ]) {
    const remarks = explain(recorded(request), { ...known, ...context }).map(({ kind, text }) => `${kind}: ${text}`);
    for (const text of texts) assert.ok(remarks.includes(text), `${text} is not in ${JSON.stringify(remarks)}`);
    assert.equal(remarks.some((text) => text.startsWith('fact: It wrote')), request.writeUnits > 0, JSON.stringify(remarks));
  }
  for (const change of [{ lost: { ...lost.lost, region: 'eu-west-1' } }, { lost: { ...lost.lost, at: 'other' } }, { table: 'U' }, { key: { PK: { S: 'b' } } }]) {
    assert.ok(explain(recorded(put), { ...known, conflicts: [{ ...lost, ...change }] }).every(({ kind }) => kind === 'fact'), 'the conflict of another write');
  }
  const update = { TableName: 'T', UpdateExpression: 'SET a = :a', ConditionExpression: 'a < :a', ExpressionAttributeValues: { ':a': { N: '1' } } };
  assert.deepEqual(
    expressionsOf({ TransactItems: [{ Update: update }, { Get: { TableName: 'U', ProjectionExpression: '#p', ExpressionAttributeNames: { '#p': 'p' } } }] }),
    [
      { expression: { kind: 'ConditionExpression', text: 'a < :a', values: update.ExpressionAttributeValues }, table: 'T', index: '' },
      { expression: { kind: 'UpdateExpression', text: 'SET a = :a', values: update.ExpressionAttributeValues }, table: 'T', index: '' },
      { expression: { kind: 'ProjectionExpression', text: '#p', names: { '#p': 'p' } }, table: 'U', index: '' },
    ],
  );
  assert.deepEqual(expressionsOf({ TableName: 'T', IndexName: 'i', FilterExpression: 'a = b' }), [{ expression: { kind: 'FilterExpression', text: 'a = b' }, table: 'T', index: 'i' }]);
});
