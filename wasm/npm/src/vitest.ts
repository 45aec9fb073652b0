// `dynatwin/vitest`: a twin for the tests of a file, or for each test.
import { Dynatwin, ready, type Snapshot } from 'dynatwin';
import { afterAll, beforeAll, beforeEach, test, type TestAPI } from 'vitest';
import { dispose } from './dispose.js';
import { prepare, useDynatwin as withHooks, type TestOptions } from './testing.js';

export type { TableDefinition, TestOptions } from './testing.js';

/**
 * Returns a twin that each test finds in the state that `options` define. Call it at the top of a test file, or inside
 * of `describe`.
 */
export const useDynatwin = (options?: TestOptions): Dynatwin => withHooks({ beforeAll, beforeEach, afterAll }, options);

/** Vitest's `test` with a fixture `twin`: each test has its own twin, so tests can run concurrently. */
export function dynatwinTest(testOptions: Omit<TestOptions, 'attach'> = {}): TestAPI<{ twin: Dynatwin }> {
  const { options, fill } = prepare(testOptions);
  const template = async () => {
    await ready();
    const twin = new Dynatwin(options);
    await fill(twin);
    return twin.snapshot();
  };
  let start: Promise<Snapshot> | undefined;
  return test.extend<{ twin: Dynatwin }>({
    twin: async ({}, use) => {
      const twin = (await (start ??= template())).fork();
      await use(twin);
      twin[dispose]();
    },
  });
}
