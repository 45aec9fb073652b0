// As `@shelf/jest-dynamodb` and `jest-dynalite` read it.
module.exports = {
  tables: [
    {
      TableName: 'Tasks',
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 },
      data: [{ id: 'first', done: false, price: 1.5, tags: new Set(['a', 'b']), deep: { list: [1, null] }, bytes: new Uint8Array([0, 255]) }],
    },
  ],
};
