import { CreateTableCommand, DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { Dynatwin } from 'dynatwin';

test('import becomes require', async () => {
  const twin = new Dynatwin({ clock: 'settable' });
  const client = new DynamoDBClient(twin.clientConfig());
  await client.send(
    new CreateTableCommand({
      TableName: 'Tasks',
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    }),
  );
  expect((await client.send(new ListTablesCommand({}))).TableNames).toEqual(['Tasks']);
});
