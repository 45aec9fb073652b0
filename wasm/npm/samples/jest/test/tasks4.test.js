const { CreateTableCommand } = require('@aws-sdk/client-dynamodb');
const { Dynatwin } = require('dynatwin');
const { TASKS } = require('../table');
const tasks = require('../tasks');

let twin;
beforeEach(async () => {
  twin = new Dynatwin({ clock: 'settable' });
  twin.attach(tasks.client);
  await tasks.client.send(new CreateTableCommand(TASKS));
});
afterEach(() => twin[Symbol.dispose]());

test.each([1, 2, 3])('each test has its own tables: %i', async () => {
  expect(await tasks.find('1')).toBeUndefined();
  await tasks.add({ id: '1', tags: new Set(['a']) });
  expect(await tasks.find('1')).toEqual({ id: '1', tags: new Set(['a']) });
  await expect(tasks.add({ id: '1' })).rejects.toThrow('The conditional request failed');
  expect(twin.items('Tasks')).toHaveLength(1);
});

test('a throttled request is sent again, without waiting', async () => {
  twin.faults.add({ verdict: 'throttle', operation: 'PutItem', first: 2 });
  await tasks.add({ id: '1' });
  expect(twin.faults.report()[0].fired).toBe(2);
});
