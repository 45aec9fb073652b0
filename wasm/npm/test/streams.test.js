// The SDK's client of DynamoDB Streams on a twin, with the same request handler.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CreateTableCommand, DynamoDBClient, PutItemCommand, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand, DynamoDBStreamsClient, ExpiredIteratorException, GetRecordsCommand, GetShardIteratorCommand, ListStreamsCommand,
} from '@aws-sdk/client-dynamodb-streams';
import { Dynatwin } from 'dynatwin';

const TableName = 'Tasks';

async function records(streams, StreamArn) {
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }));
  const found = [];
  for (const { ShardId } of StreamDescription.Shards) {
    const { ShardIterator } = await streams.send(new GetShardIteratorCommand({ StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' }));
    found.push(...(await streams.send(new GetRecordsCommand({ ShardIterator }))).Records);
  }
  return found;
}

test('the changes of a table are read from its stream', async () => {
  const twin = new Dynatwin({ seed: 1, clock: 'settable' });
  const client = new DynamoDBClient({ ...twin.clientConfig(), maxAttempts: 1 });
  const streams = new DynamoDBStreamsClient({ ...twin.clientConfig(), maxAttempts: 1 });
  await client.send(new CreateTableCommand({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
  }));
  await client.send(new UpdateTimeToLiveCommand({
    TableName, TimeToLiveSpecification: { Enabled: true, AttributeName: 'expiresAt' },
  }));
  const expires = Math.floor(twin.clock.now().getTime() / 1000) + 60;
  const Item = { PK: { S: 'a' }, expiresAt: { N: String(expires) } };
  await client.send(new PutItemCommand({ TableName, Item }));
  const { Streams } = await streams.send(new ListStreamsCommand({ TableName }));
  assert.equal(Streams.length, 1);
  twin.clock.advance(3600);
  const found = await records(streams, Streams[0].StreamArn);
  assert.deepEqual(found.map((record) => record.eventName), ['INSERT', 'REMOVE']);
  const [insert, remove] = found;
  assert.deepEqual(insert.dynamodb.NewImage, Item);
  assert.deepEqual(remove.dynamodb.OldImage, Item);
  assert.deepEqual(remove.dynamodb.ApproximateCreationDateTime, new Date(expires * 1000));
  assert.deepEqual(remove.userIdentity, { PrincipalId: 'dynamodb.amazonaws.com', Type: 'Service' });
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn: Streams[0].StreamArn }));
  const { ShardIterator } = await streams.send(new GetShardIteratorCommand({
    StreamArn: Streams[0].StreamArn, ShardId: StreamDescription.Shards[0].ShardId, ShardIteratorType: 'LATEST',
  }));
  twin.clock.advance(16 * 60);
  await assert.rejects(streams.send(new GetRecordsCommand({ ShardIterator })), ExpiredIteratorException);
});

test('shards are split on demand', async () => {
  const twin = new Dynatwin({ clock: 'settable' });
  const client = new DynamoDBClient(twin.clientConfig());
  const streams = new DynamoDBStreamsClient(twin.clientConfig());
  const create = (name, more) => client.send(new CreateTableCommand({
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }],
    ...more,
  }));
  await create(TableName, { StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' } });
  await create('Streamless');
  assert.deepEqual([twin.splitShards(TableName), twin.splitShards('Streamless')], [true, false]);
  const { Streams } = await streams.send(new ListStreamsCommand({ TableName }));
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn: Streams[0].StreamArn }));
  assert.equal(StreamDescription.Shards.length, 3);
});
