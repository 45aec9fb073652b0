// What the helpers for test runners share.
import type { Attachment, Options } from 'dynatwin';
import { Dynatwin } from 'dynatwin';
import { createTables, type TableDefinition } from './tables.js';

export type { TableDefinition };

/** The twin of a test file, and what each of its tests starts with. */
export interface TestOptions extends Options {
  /** Tables with their items, as in the configuration of `@shelf/jest-dynamodb` or `jest-dynalite`. */
  tables?: TableDefinition[] | (() => TableDefinition[] | Promise<TableDefinition[]>);
  /** Adds to that what takes requests, such as migrations. It runs once for each test file. */
  template?: (twin: Dynatwin) => void | Promise<void>;
  /** Clients of the AWS SDK that the twin answers instead of a server, such as those of an application's module scope. */
  attach?: { config: object } | { config: object }[];
}

/** The hooks of a test runner. */
export interface Hooks {
  beforeAll(setUp: () => void): void;
  beforeEach(setUp: () => Promise<void>): void;
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

/** A twin that is as `options` say at the start of each test. */
export function useDynatwin(hooks: Hooks, testOptions: TestOptions = {}): Dynatwin {
  const { options, clients, fill } = prepare(testOptions);
  const twin = new Dynatwin(options);
  let attachments: Attachment[] = [];
  hooks.beforeAll(() => {
    attachments = clients.map((client) => twin.attach(client));
  });
  hooks.beforeEach(async () => {
    twin.reset({ all: true });
    await fill(twin);
  });
  hooks.afterAll(() => attachments.forEach((attachment) => attachment.detach()));
  return twin;
}
