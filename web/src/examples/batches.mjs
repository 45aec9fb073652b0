// A batch that is throttled in part succeeds: the items that were not written are returned as UnprocessedItems.
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { BatchWriteCommand, DynamoDBDocumentClient, ScanCommand } from "@aws-sdk/lib-dynamodb";

const client = new DynamoDBClient({ maxAttempts: 20 });
const db = DynamoDBDocumentClient.from(client);
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const send = (RequestItems) => db.send(new BatchWriteCommand({ RequestItems }));

async function wrong(requests) {
  await send(requests); // No error, so all is well?
}

async function right(requests) {
  for (let left = requests, attempt = 0; Object.keys(left).length > 0; attempt++) {
    left = (await send(left)).UnprocessedItems;
    if (Object.keys(left).length) await sleep(Math.random() * Math.min(20_000, 100 * 2 ** attempt));
  }
}

for (const [name, run] of Object.entries({ wrong, right })) {
  await client.send(new CreateTableCommand({
    TableName: name,
    AttributeDefinitions: [{ AttributeName: "PK", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }],
    ProvisionedThroughput: { ReadCapacityUnits: 100, WriteCapacityUnits: 10 },
  }));
  await waitUntilTableExists({ client, maxWaitTime: 600, minDelay: 1, maxDelay: 2 }, { TableName: name });
  for (let batch = 0; batch < 20; batch++) {
    const puts = Array.from({ length: 25 }, (_, at) => ({ PutRequest: { Item: { PK: `ORDER#${batch * 25 + at}` } } }));
    await run({ [name]: puts });
  }
  await sleep(60_000);
  const { Count } = await db.send(new ScanCommand({ TableName: name, Select: "COUNT", ConsistentRead: true }));
  const result = Count < 500 ? `${500 - Count} of 500 items lost, without an error` : "all 500 items stored";
  console.log(`${name}: ${result}`);
  process.send?.({ name, held: Count === 500, text: result });
}
