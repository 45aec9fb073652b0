// The helper for Vitest has the types of the installed Vitest.
import { dynatwinTest, useDynatwin } from 'dynatwin/vitest';
import { expect } from 'vitest';

const shared = useDynatwin({ clock: 'polling', template: async (twin) => twin.watch() });
const test = dynatwinTest({ tables: () => [{ TableName: 'Tasks' }], seed: 7 });

test.concurrent('a fixture', async ({ twin, task }) => {
  expect(twin.seed + shared.seed).toBe(7n);
  expect(task.name).toBe('a fixture');
});
