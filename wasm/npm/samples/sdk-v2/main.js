// The second version of the SDK against `npx dynatwin`; the endpoint is the argument.
const assert = require('node:assert/strict');
process.env.AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE = '1';
const AWS = require('aws-sdk');

async function main() {
  const settings = { endpoint: process.argv[2], region: 'us-east-1', accessKeyId: 'test', secretAccessKey: 'test' };
  const dynamodb = new AWS.DynamoDB(settings);
  const documents = new AWS.DynamoDB.DocumentClient({ service: dynamodb });
  const TableName = 'Tasks';
  await dynamodb
    .createTable({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    })
    .promise();
  await dynamodb.waitFor('tableExists', { TableName }).promise();
  await documents.put({ TableName, Item: { id: '1', tags: ['a'], bytes: Buffer.from([1, 2]) } }).promise();
  const { Item } = await documents.get({ TableName, Key: { id: '1' } }).promise();
  assert.deepEqual(Item, { id: '1', tags: ['a'], bytes: Buffer.from([1, 2]) });
  const again = { TableName, Item, ConditionExpression: 'attribute_not_exists(id)' };
  await assert.rejects(documents.put(again).promise(), { code: 'ConditionalCheckFailedException' });
}
main();
