// An application, and the tests that its project ran with dynalite.
const assert = require('node:assert/strict');
const { CreateTableCommand, DynamoDBClient, waitUntilTableExists } = require('@aws-sdk/client-dynamodb');
const { BatchWriteCommand, DynamoDBDocumentClient, PutCommand, QueryCommand, UpdateCommand } = require('@aws-sdk/lib-dynamodb');

const TableName = 'Tasks';
const keys = (hash, range) => [{ AttributeName: hash, KeyType: 'HASH' }, { AttributeName: range, KeyType: 'RANGE' }];

module.exports = async function test(endpoint) {
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } });
  const documents = DynamoDBDocumentClient.from(client);
  const { TableDescription } = await client.send(
    new CreateTableCommand({
      TableName,
      ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 },
      AttributeDefinitions: ['owner', 'id', 'state'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      KeySchema: keys('owner', 'id'),
      GlobalSecondaryIndexes: [
        {
          IndexName: 'by-state',
          KeySchema: keys('state', 'id'),
          Projection: { ProjectionType: 'KEYS_ONLY' },
          ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 },
        },
      ],
    }),
  );
  assert.equal(TableDescription.TableStatus, 'CREATING');
  await waitUntilTableExists({ client, maxWaitTime: 30, minDelay: 1, maxDelay: 1 }, { TableName });

  const put = new PutCommand({ TableName, Item: { owner: 'ada', id: '1', state: 'open' }, ConditionExpression: 'attribute_not_exists(id)' });
  await documents.send(put);
  await assert.rejects(documents.send(put), { name: 'ConditionalCheckFailedException' });
  const items = ['2', '3'].map((id) => ({ owner: 'ada', id, state: 'open' }));
  await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: items.map((Item) => ({ PutRequest: { Item } })) } }));
  const { Attributes } = await documents.send(
    new UpdateCommand({
      TableName,
      Key: { owner: 'ada', id: '2' },
      UpdateExpression: 'SET #state = :done ADD hours :hours',
      ExpressionAttributeNames: { '#state': 'state' },
      ExpressionAttributeValues: { ':done': 'done', ':hours': 1.5 },
      ReturnValues: 'ALL_NEW',
    }),
  );
  assert.deepEqual(Attributes, { owner: 'ada', id: '2', state: 'done', hours: 1.5 });
  const { Items } = await documents.send(
    new QueryCommand({
      TableName,
      IndexName: 'by-state',
      KeyConditionExpression: '#state = :open',
      ExpressionAttributeNames: { '#state': 'state' },
      ExpressionAttributeValues: { ':open': 'open' },
    }),
  );
  assert.deepEqual(Items.map(({ id }) => id), ['1', '3']);
  client.destroy();
};
