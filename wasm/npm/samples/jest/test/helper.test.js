const { waitUntilTableExists, CreateTableCommand, DynamoDBClient } = require('@aws-sdk/client-dynamodb');
const { Dynatwin } = require('dynatwin');
const { useDynatwin } = require('dynatwin/jest');
const { tables } = require('../jest-dynamodb-config');
const { TASKS } = require('../table');
const tasks = require('../tasks');

describe('useDynatwin', () => {
  const twin = useDynatwin({
    tables,
    attach: tasks.client,
    clock: 'settable',
    conditions: 'aws',
    template: async () => {
      await tasks.add({ id: 'second' });
    },
  });

  test.each([1, 2])('each test starts with the template: %i', async () => {
    expect(await tasks.find('first')).toEqual(tables[0].data[0]);
    expect(twin.items('Tasks')).toHaveLength(2);
    expect(twin.conditions.tableStatus).not.toBe(0);
    await tasks.add({ id: 'third' });
    twin.clock.advance(60);
    twin.conditions = 'storm';
  });
});

describe('fake timers', () => {
  beforeEach(() => jest.useFakeTimers({ now: new Date('2030-01-01T00:00:00Z') }));
  afterEach(() => jest.useRealTimers());

  test('the system clock of a twin is the faked one', () => {
    const twin = new Dynatwin();
    expect(twin.clock.now()).toEqual(new Date('2030-01-01T00:00:00Z'));
    jest.advanceTimersByTime(3_600_000);
    expect(twin.clock.now()).toEqual(new Date('2030-01-01T01:00:00Z'));
  });

  test('a waiter waits on fake timers', async () => {
    const twin = new Dynatwin({ conditions: { tableStatus: 30 } });
    const client = new DynamoDBClient(twin.clientConfig());
    await client.send(new CreateTableCommand(TASKS));
    const waiting = waitUntilTableExists({ client, maxWaitTime: 300 }, { TableName: 'Tasks' });
    await jest.advanceTimersByTimeAsync(120_000);
    expect((await waiting).state).toBe('SUCCESS');
  });

  test('a waiter on a polling clock waits for no timer', async () => {
    const twin = new Dynatwin({ clock: 'polling', conditions: { tableStatus: 30 } });
    const client = new DynamoDBClient(twin.clientConfig());
    await client.send(new CreateTableCommand(TASKS));
    expect((await waitUntilTableExists({ client, maxWaitTime: 300 }, { TableName: 'Tasks' })).state).toBe('SUCCESS');
  });
});
