// An application with a client of module scope.
const { DynamoDBClient } = require('@aws-sdk/client-dynamodb');
const { DynamoDBDocumentClient, GetCommand, PutCommand } = require('@aws-sdk/lib-dynamodb');

const client = new DynamoDBClient({});
const documents = DynamoDBDocumentClient.from(client);

module.exports = {
  client,
  add: (task) => documents.send(new PutCommand({ TableName: 'Tasks', Item: task, ConditionExpression: 'attribute_not_exists(id)' })),
  find: async (id) => (await documents.send(new GetCommand({ TableName: 'Tasks', Key: { id } }))).Item,
};
