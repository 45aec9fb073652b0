// NoSQL Workbench data models: the requests that create their tables and items, and a model of the existing tables.
import type { App } from './app';
import { allItems } from './bulk';
import type { KeyPart, TableView } from './tables';
import type { Attributes } from './transport/control';

interface ModelKey {
  AttributeName: string;
  AttributeType: string;
}

interface ModelKeys {
  PartitionKey: ModelKey;
  SortKey?: ModelKey;
}

interface ModelIndex {
  IndexName: string;
  KeyAttributes: ModelKeys;
  Projection?: { ProjectionType: string; NonKeyAttributes?: string[] };
}

interface ModelTable {
  TableName: string;
  KeyAttributes: ModelKeys;
  NonKeyAttributes?: ModelKey[];
  GlobalSecondaryIndexes?: ModelIndex[];
  LocalSecondaryIndexes?: ModelIndex[];
  TableData?: Attributes[];
  BillingMode?: string;
  ProvisionedCapacitySettings?: { ProvisionedThroughput?: { ReadCapacityUnits: number; WriteCapacityUnits: number } };
  TableFacets?: unknown[];
  DataAccess?: unknown;
}

export interface Model {
  ModelName: string;
  ModelMetadata: Record<string, string>;
  DataModel: ModelTable[];
}

/** Whether a file's content is a data model. */
export const isModel = (value: unknown): value is Model => Array.isArray((value as Model | null)?.DataModel);

export type ApiRequest = [operation: string, body: Record<string, unknown>];

const BATCH = 25;

/** The requests that make a model's tables and put its sample data. */
export function requestsOf({ DataModel: tables }: Model): ApiRequest[] {
  return tables.flatMap((table): ApiRequest[] => {
    const { TableName, TableData: items = [] } = table;
    const batches: ApiRequest[] = [];
    for (let at = 0; at < items.length; at += BATCH) {
      batches.push(['BatchWriteItem', { RequestItems: { [TableName]: items.slice(at, at + BATCH).map((Item) => ({ PutRequest: { Item } })) } }]);
    }
    return [['CreateTable', creation(table)], ...batches];
  });
}

function creation(table: ModelTable): Record<string, unknown> {
  const { GlobalSecondaryIndexes: globals = [], LocalSecondaryIndexes: locals = [], ProvisionedCapacitySettings: settings } = table;
  const attributes = new Map<string, string>();
  const schema = ({ PartitionKey, SortKey }: ModelKeys) =>
    [PartitionKey, SortKey].flatMap((key, at) => {
      if (!key) return [];
      attributes.set(key.AttributeName, key.AttributeType);
      return [{ AttributeName: key.AttributeName, KeyType: at === 0 ? 'HASH' : 'RANGE' }];
    });
  const throughput = table.BillingMode === 'PAY_PER_REQUEST' ? undefined : settings?.ProvisionedThroughput;
  const units = throughput && { ProvisionedThroughput: { ReadCapacityUnits: throughput.ReadCapacityUnits, WriteCapacityUnits: throughput.WriteCapacityUnits } };
  const index = ({ IndexName, KeyAttributes, Projection = { ProjectionType: 'ALL' } }: ModelIndex) => {
    const { ProjectionType, NonKeyAttributes: others } = Projection;
    return { IndexName, KeySchema: schema(KeyAttributes), Projection: { ProjectionType, ...(ProjectionType === 'INCLUDE' ? { NonKeyAttributes: others } : {}) } };
  };
  return {
    TableName: table.TableName,
    KeySchema: schema(table.KeyAttributes),
    ...(units ?? { BillingMode: 'PAY_PER_REQUEST' }),
    ...(globals.length > 0 ? { GlobalSecondaryIndexes: globals.map((one) => ({ ...index(one), ...units })) } : {}),
    ...(locals.length > 0 ? { LocalSecondaryIndexes: locals.map(index) } : {}),
    AttributeDefinitions: Array.from(attributes, ([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
  };
}

/** A model of the existing tables, with their items as sample data. */
export async function modelOf(app: App): Promise<Model> {
  const tables = [];
  for (const table of app.tables.list.value) tables.push(modelTable(table, await allItems(app, table)));
  const now = new Date(app.time.now.value).toISOString();
  const metadata = { Author: '', DateCreated: now, DateLastModified: now, Description: '', AWSService: 'Amazon DynamoDB', Version: '3.0' };
  return { ModelName: 'Dynatwin', ModelMetadata: metadata, DataModel: tables };
}

function modelTable(table: TableView, items: Attributes[]): ModelTable {
  const keyed = ({ name, type }: KeyPart): ModelKey => ({ AttributeName: name, AttributeType: type });
  const keys = ([hash, range]: KeyPart[]): ModelKeys => ({
    PartitionKey: keyed(hash ?? { name: '', type: 'S' }),
    ...(range ? { SortKey: keyed(range) } : {}),
  });
  const ofKind = (wanted: 'global' | 'local') =>
    table.indexes
      .filter(({ kind }) => kind === wanted)
      .map(({ name, keys: parts, projection, included }) => ({
        IndexName: name,
        KeyAttributes: keys(parts),
        Projection: { ProjectionType: projection, ...(projection === 'INCLUDE' ? { NonKeyAttributes: included } : {}) },
      }));
  const types = new Map<string, string>();
  for (const item of items) for (const [name, value] of Object.entries(item)) types.set(name, Object.keys(value)[0] ?? 'S');
  for (const { name } of table.keys) types.delete(name);
  return {
    TableName: table.name,
    KeyAttributes: keys(table.keys),
    NonKeyAttributes: Array.from(types, ([name, type]) => ({ AttributeName: name, AttributeType: type })),
    TableFacets: [],
    GlobalSecondaryIndexes: ofKind('global'),
    LocalSecondaryIndexes: ofKind('local'),
    TableData: items,
    DataAccess: { MySql: {} },
    ...(table.provisioned
      ? { BillingMode: 'PROVISIONED', ProvisionedCapacitySettings: { ProvisionedThroughput: { ReadCapacityUnits: table.provisioned.read, WriteCapacityUnits: table.provisioned.write } } }
      : { BillingMode: 'PAY_PER_REQUEST' }),
  };
}
