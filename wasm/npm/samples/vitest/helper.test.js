import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { Dynatwin } from 'dynatwin';
import { dynatwinTest, useDynatwin } from 'dynatwin/vitest';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

const TASKS = {
  TableName: 'Tasks',
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
};
const tables = async () => [{ ...TASKS, data: [{ id: 'first' }] }];
const client = new DynamoDBClient({});
const documents = DynamoDBDocumentClient.from(client);
const put = (to, id) => to.send(new PutCommand({ TableName: 'Tasks', Item: { id } }));
const count = async (of) => (await of.send(new ScanCommand({ TableName: 'Tasks' }))).Count;

describe('useDynatwin', () => {
  const twin = useDynatwin({ tables, attach: [client], clock: 'settable' });

  test.each([1, 2])('each test starts with the tables: %i', async () => {
    expect(await count(documents)).toBe(1);
    await put(documents, 'second');
    expect(twin.items('Tasks')).toHaveLength(2);
  });
});

describe('a fixture', () => {
  const withTwin = dynatwinTest({ tables, clock: 'settable' });

  for (const id of ['second', 'third', 'fourth']) {
    withTwin.concurrent(`concurrent tests share nothing: ${id}`, async ({ twin, expect }) => {
      const own = DynamoDBDocumentClient.from(new DynamoDBClient(twin.clientConfig()));
      await put(own, id);
      expect(await count(own)).toBe(2);
    });
  }
});

describe('fake timers', () => {
  beforeEach(() => vi.useFakeTimers({ now: new Date('2030-01-01T00:00:00Z') }));
  afterEach(() => vi.useRealTimers());

  test('the system clock of a twin is the faked one', () => {
    const twin = new Dynatwin();
    vi.advanceTimersByTime(3_600_000);
    expect(twin.clock.now()).toEqual(new Date('2030-01-01T01:00:00Z'));
  });

  test('a waiter waits on fake timers', async () => {
    const twin = new Dynatwin({ conditions: { tableStatus: 30 } });
    const own = new DynamoDBClient(twin.clientConfig());
    await own.send(new CreateTableCommand({ ...TASKS, BillingMode: 'PAY_PER_REQUEST' }));
    const waiting = waitUntilTableExists({ client: own, maxWaitTime: 300 }, { TableName: 'Tasks' });
    await vi.advanceTimersByTimeAsync(120_000);
    expect((await waiting).state).toBe('SUCCESS');
  });
});
