// An ES module in Node, Bun and Deno.
import assert from 'node:assert/strict';
import { CreateTableCommand, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { Dynatwin, ready } from 'dynatwin';

await ready();
const twin = new Dynatwin({ clock: 'settable' });
const client = new DynamoDBClient(twin.clientConfig());
const key = { AttributeName: 'id', AttributeType: 'S' };
const KeySchema = [{ AttributeName: 'id', KeyType: 'HASH' }];
await client.send(new CreateTableCommand({ TableName: 'Tasks', BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: [key], KeySchema }));
twin.faults.add({ verdict: 'throttle', operation: 'PutItem', first: 2 });
await client.send(new PutItemCommand({ TableName: 'Tasks', Item: { id: { S: '1' } } }));
assert.deepEqual(twin.items('Tasks'), [{ id: { S: '1' } }]);
