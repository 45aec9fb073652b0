// The programs that the page offers.
import type { ConditionsChange } from '../transport/control';
import opening from './opening.mjs?raw';

export interface Example {
  id: string;
  title: string;
  /** What it shows, in a sentence or two. */
  about: string;
  kind: 'start' | 'lesson';
  /** Loads its code. */
  load: () => Promise<string>;
  seed?: number;
  conditions?: ConditionsChange;
  /** Requests that are sent before the code runs. */
  setup?: [operation: string, body: unknown][];
  speed?: number;
  /** The operation whose last request is explained once the code has run. */
  shows?: string;
}

export const OPENING: Example = {
  id: 'opening',
  title: 'A shop under load',
  about: 'Five baskets a second meet a table that takes four. An index follows with a lag. Baskets expire after 3 seconds, and are deleted later.',
  kind: 'start',
  load: async () => opening,
  seed: 7,
  conditions: {
    base: 'calm',
    indexPropagation: { typical: 1.2, longest: 3 },
    timeToLive: { typical: 4, longest: 12 },
    capacity: { burst: 4 },
  },
};

const FILES = import.meta.glob<string>(['./*.mjs', '!./opening.mjs'], { query: '?raw', import: 'default' });
const file = (name: string) => FILES[`./${name}.mjs`] ?? (() => Promise.reject(new Error(`There is no example ${name}.`)));

/** A lesson, whose code is in the file of its id. */
const lesson = (id: string, title: string, about: string, shows?: string): Example => ({ id, title, about, load: file(id), kind: 'lesson', seed: 7, ...(shows ? { shows } : {}) });

export const EXAMPLES: Example[] = [
  OPENING,
  {
    id: 'task-board',
    title: 'A task board',
    about: 'Conditional writes, a query by prefix, a session that expires in a week. Move time eight days forward, and the session is gone.',
    kind: 'start',
    load: () => import('../../../examples/node-guide/app.mjs?raw').then((module) => module.default),
    seed: 7,
    conditions: 'calm',
  },
  {
    id: 'global-table',
    title: 'A table in two regions',
    about: 'Both regions write the same carts, and replication lags. Of two concurrent writes the later one wins, and no request reports the lost one.',
    kind: 'start',
    load: file('global-table'),
    seed: 7,
    conditions: { base: 'calm', replicationLag: { typical: 1.2, longest: 4 } },
  },
  lesson('filter', 'Why does my filter cost so much?', 'A filter drops items after they were read, so a scan that returns five items pays for the whole table.', 'Scan'),
  lesson('backoff', 'Retries with full jitter', 'A burst meets a small table. Without retries orders are lost; with full jitter every order gets through.'),
  lesson('batches', 'Unprocessed items', 'BatchWriteItem succeeds though a part was throttled. What came back has to be sent again.'),
  lesson('sessions', 'Expired is not deleted', 'Time to live deletes items hours after they expire. Reads return them until then.'),
  lesson('hot-keys', 'A hot partition key', 'All writes of a day go to one key, and its partition throttles while the table is idle.'),
  lesson('rate-limit', 'A rate limit by an index', 'Counting through an index lets too many calls through, since the index lags.'),
  lesson('jobs', 'A job that must run once', 'A lookup in an index does not keep a job from running twice; a conditional write does.'),
  lesson('tokens', 'Transactions and client tokens', 'The answers to a payment are lost and the application pays again. A client token makes it one payment.'),
  lesson('regions', 'Two regions, one balance', 'A version check in each of two regions lets both deposits pass, and one is lost. Deposits that are items of their own all arrive.'),
  lesson('retries', 'A retry meets its own write', 'The answer to a conditional put is lost. The SDK sends it again, and the condition fails because of the first attempt.'),
];
