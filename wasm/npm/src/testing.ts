// The shared part of the helpers for test runners.
import type { Attachment, Options, Snapshot } from 'dynatwin';
import { Dynatwin } from 'dynatwin';
import { createTables, type TableDefinition } from './tables.js';

export type { TableDefinition };

/** The twin of a test file, and the state in which each of its tests starts. */
export interface TestOptions extends Options {
  /** Tables with their items, as in the configuration of `@shelf/jest-dynamodb` or `jest-dynalite`. */
  tables?: TableDefinition[] | (() => TableDefinition[] | Promise<TableDefinition[]>);
  /** Adds data by sending requests, such as migrations. It runs once for each test file. */
  template?: (twin: Dynatwin) => void | Promise<void>;
  /**
   * Clients of the AWS SDK that the twin answers instead of a server, such as those of an application's module scope.
   */
  attach?: { config: object } | { config: object }[];
}

/** The hooks of a test runner. */
export interface Hooks {
  beforeAll(setUp: () => Promise<void>): void;
  beforeEach(setUp: () => void): void;
  afterAll(cleanUp: () => void): void;
}

/** Splits the options of a helper into those of the twin, and the function that fills it. */
export function prepare({ tables, template, attach, ...options }: TestOptions) {
  return {
    options,
    clients: attach === undefined ? [] : Array.isArray(attach) ? attach : [attach],
    async fill(twin: Dynatwin): Promise<void> {
      createTables(twin, (typeof tables === 'function' ? await tables() : tables) ?? []);
      await template?.(twin);
    },
  };
}

/** Returns a twin that each test finds in the state that the options define. */
export function useDynatwin(hooks: Hooks, testOptions: TestOptions = {}): Dynatwin {
  const { options, clients, fill } = prepare(testOptions);
  const twin = new Dynatwin(options);
  let attachments: Attachment[] = [];
  let start: Snapshot;
  hooks.beforeAll(async () => {
    attachments = clients.map((client) => twin.attach(client));
    await fill(twin);
    start = twin.snapshot();
  });
  hooks.beforeEach(() => twin.restore(start));
  hooks.afterAll(() => attachments.forEach((attachment) => attachment.detach()));
  return twin;
}
