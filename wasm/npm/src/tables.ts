// Tables as test setups define them: the input of CreateTable, and items.
import type { Dynatwin } from './twin.js';
import type { AttributeValue } from './types.js';

/**
 * The input of CreateTable with items for the new table: an entry of `tables` in a configuration for `@shelf/jest-dynamodb` or
 * `jest-dynalite`. Without `BillingMode` and `ProvisionedThroughput` the table is on demand.
 */
export interface TableDefinition {
  TableName: string;
  /** Items as plain JavaScript values, in the document client's format. */
  data?: Record<string, unknown>[];
  [member: string]: unknown;
}

const decoder = new TextDecoder();

/** Creates tables with their items at once, whatever the conditions are. */
export function createTables(twin: Dynatwin, tables: TableDefinition[]): void {
  const conditions = twin.conditions;
  twin.conditions = 'calm';
  try {
    for (const { data = [], ...input } of tables) {
      const isBilled = 'BillingMode' in input || 'ProvisionedThroughput' in input;
      carryOut(twin, 'CreateTable', isBilled ? input : { ...input, BillingMode: 'PAY_PER_REQUEST' });
      for (const item of data) carryOut(twin, 'PutItem', { TableName: input.TableName, Item: attributes(item) });
    }
  } finally {
    twin.conditions = conditions;
  }
}

function carryOut(twin: Dynatwin, operation: string, input: object): void {
  const { status, body } = twin.dispatch(operation, JSON.stringify(input));
  if (status === 200) return;
  const { __type: type, message, Message } = JSON.parse(decoder.decode(body));
  throw new Error(`${operation}: ${String(type).replace(/^.*#/, '')}: ${message ?? Message}`);
}

type Encoded = { [Type in keyof AttributeValue]?: unknown } | Record<string, unknown>;

// Converts an item to DynamoDB JSON, with bytes as base64.
function attributes(item: object): Record<string, Encoded> {
  const members = Object.entries(item).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members.map(([name, value]) => [name, attribute(value)]));
}

function attribute(value: unknown): Encoded {
  if (value === null) return { NULL: true };
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number' || typeof value === 'bigint') return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (value instanceof Uint8Array) return { B: base64(value) };
  if (value instanceof Set) return set([...value]);
  if (Array.isArray(value)) return { L: value.map(attribute) };
  if (typeof value === 'object') return { M: attributes(value) };
  throw new TypeError(`An item cannot hold a ${typeof value}.`);
}

function set(members: unknown[]): Encoded {
  if (members.every((member) => typeof member === 'string')) return { SS: members };
  if (members.every((member) => typeof member === 'number' || typeof member === 'bigint')) return { NS: members.map(String) };
  if (members.every((member) => member instanceof Uint8Array)) return { BS: members.map(base64) };
  throw new TypeError('The members of a Set are all strings, all numbers or all bytes.');
}

const base64 = (bytes: Uint8Array) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
