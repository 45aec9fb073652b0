// `dynatwin/jest`: a twin for the tests of a file.
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import type { Dynatwin } from 'dynatwin';
import { useDynatwin as withHooks, type TestOptions } from './testing.js';

export type { TableDefinition, TestOptions } from './testing.js';

/**
 * Returns a twin that each test finds in the state that `options` define. Call it at the top of a test file, or inside
 * of `describe`.
 */
export const useDynatwin = (options?: TestOptions): Dynatwin => withHooks({ beforeAll, beforeEach, afterAll }, options);
