import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import { useDynatwin, type TableDefinition } from 'dynatwin/jest';

const client = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const tables: TableDefinition[] = [
  {
    TableName: 'Tasks',
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    data: [{ id: '1', done: false }],
  },
];
const twin = useDynatwin({ tables, attach: client, clock: 'settable' });

test('the helper has types', async () => {
  const { Item } = await client.send(new GetCommand({ TableName: 'Tasks', Key: { id: '1' } }));
  expect(Item).toEqual({ id: '1', done: false });
  expect(twin.fork().tables()).toEqual(['Tasks']);
});
