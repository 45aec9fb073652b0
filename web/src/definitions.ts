// The definitions of tables, derived from the requests that created them.
//
// A request by the app itself would have side effects: random failures and limits depend on the number of requests. In
// a tab the app therefore reads the bodies of the requests in the log, and sends DescribeTable only to a server.
import type { IndexView, KeyPart, TableView } from './tables';

export type Definition = Pick<TableView, 'keys' | 'indexes' | 'provisioned' | 'ttl' | 'stream'>;

interface Throughput {
  ReadCapacityUnits: number;
  WriteCapacityUnits: number;
}

interface Attribute {
  AttributeName: string;
  AttributeType: string;
}

interface IndexBody {
  IndexName: string;
  KeySchema: { AttributeName: string }[];
  Projection?: { ProjectionType?: string; NonKeyAttributes?: string[] };
  IndexStatus?: string;
}

export interface TableBody {
  AttributeDefinitions?: Attribute[];
  KeySchema?: { AttributeName: string }[];
  BillingMode?: string;
  BillingModeSummary?: { BillingMode?: string };
  ProvisionedThroughput?: Throughput;
  GlobalSecondaryIndexes?: IndexBody[];
  LocalSecondaryIndexes?: IndexBody[];
  StreamSpecification?: { StreamEnabled?: boolean; StreamViewType?: string };
  GlobalSecondaryIndexUpdates?: { Create?: IndexBody; Delete?: { IndexName: string } }[];
  TimeToLiveSpecification?: { AttributeName: string; Enabled: boolean };
  ReplicaUpdates?: { Create?: { RegionName: string } }[];
}

const keysOf = (schema: { AttributeName: string }[] = [], attributes: Attribute[] = []): KeyPart[] =>
  schema.map(({ AttributeName: name }) => ({ name, type: attributes.find(({ AttributeName }) => AttributeName === name)?.AttributeType ?? 'S' }));

const indexOf = (kind: IndexView['kind'], attributes?: Attribute[]) => (index: IndexBody): IndexView => ({
  name: index.IndexName,
  kind,
  keys: keysOf(index.KeySchema, attributes),
  projection: index.Projection?.ProjectionType ?? 'ALL',
  included: index.Projection?.NonKeyAttributes ?? [],
  status: index.IndexStatus,
});

/** The definition in a CreateTable, or in a description. */
export function defined(body: TableBody): Definition {
  const { AttributeDefinitions: attributes, ProvisionedThroughput: units } = body;
  const mode = body.BillingMode ?? body.BillingModeSummary?.BillingMode;
  return {
    keys: keysOf(body.KeySchema, attributes),
    indexes: [...(body.GlobalSecondaryIndexes ?? []).map(indexOf('global', attributes)), ...(body.LocalSecondaryIndexes ?? []).map(indexOf('local', attributes))],
    provisioned: mode === 'PAY_PER_REQUEST' || !units ? undefined : { read: units.ReadCapacityUnits, write: units.WriteCapacityUnits },
    ttl: undefined,
    stream: body.StreamSpecification?.StreamEnabled ? body.StreamSpecification.StreamViewType : undefined,
  };
}

/** A table's definition after a request; `undefined` if the table does not exist then. */
export function after(definition: Definition | undefined, operation: string, body: TableBody): Definition | undefined {
  if (operation === 'CreateTable') return defined(body);
  if (operation === 'DeleteTable' || !definition) return undefined;
  if (operation === 'UpdateTimeToLive') {
    const { AttributeName, Enabled } = body.TimeToLiveSpecification ?? { AttributeName: '', Enabled: false };
    return { ...definition, ttl: Enabled ? AttributeName : undefined };
  }
  if (operation !== 'UpdateTable') return definition;
  const { ProvisionedThroughput: units, StreamSpecification: stream } = body;
  // The first replica enables a stream.
  const replicated = body.ReplicaUpdates?.some(({ Create }) => Create !== undefined);
  const gone = body.GlobalSecondaryIndexUpdates?.flatMap(({ Delete }) => Delete?.IndexName ?? []) ?? [];
  const made = body.GlobalSecondaryIndexUpdates?.flatMap(({ Create }) => (Create ? [indexOf('global', body.AttributeDefinitions)(Create)] : [])) ?? [];
  const billed = body.BillingMode === 'PAY_PER_REQUEST' ? undefined : units ? { read: units.ReadCapacityUnits, write: units.WriteCapacityUnits } : definition.provisioned;
  return {
    ...definition,
    indexes: [...definition.indexes.filter(({ name }) => !gone.includes(name)), ...made],
    provisioned: billed,
    stream: stream ? (stream.StreamEnabled ? stream.StreamViewType : undefined) : (definition.stream ?? (replicated ? 'NEW_AND_OLD_IMAGES' : undefined)),
  };
}
