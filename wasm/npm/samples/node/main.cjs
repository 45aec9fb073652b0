// A CommonJS module in Node, Bun and Deno.
const assert = require('node:assert/strict');
const { CreateTableCommand, DynamoDBClient, PutItemCommand } = require('@aws-sdk/client-dynamodb');
const { Dynatwin } = require('dynatwin');

async function main() {
  const twin = new Dynatwin({ clock: 'settable' });
  const client = new DynamoDBClient(twin.clientConfig());
  const key = { AttributeName: 'id', AttributeType: 'S' };
  const KeySchema = [{ AttributeName: 'id', KeyType: 'HASH' }];
  await client.send(new CreateTableCommand({ TableName: 'Tasks', BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: [key], KeySchema }));
  twin.faults.add({ verdict: 'throttle', operation: 'PutItem', first: 2 });
  await client.send(new PutItemCommand({ TableName: 'Tasks', Item: { id: { S: '1' } } }));
  assert.deepEqual(twin.items('Tasks'), [{ id: { S: '1' } }]);
}
main();
