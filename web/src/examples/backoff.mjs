// A burst of orders meets a table that takes five writes a second.
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";

const client = new DynamoDBClient({ maxAttempts: 20 });
const db = DynamoDBDocumentClient.from(new DynamoDBClient({ maxAttempts: 1 }));
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const put = (TableName, order) => db.send(new PutCommand({ TableName, Item: { PK: `ORDER#${order}` } }));

async function wrong(order) {
  await put("wrong", order);
}

// Full jitter: sleep for a random part of a bound that doubles, so that clients throttled together retry at different
// times.
async function right(order) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await put("right", order);
    } catch (error) {
      const again = ["ProvisionedThroughputExceededException", "ThrottlingException", "InternalServerError"];
      if (attempt === 14 || !again.includes(error.name)) throw error;
      await sleep(Math.random() * Math.min(20_000, 100 * 2 ** attempt));
    }
  }
}

for (const [name, run] of Object.entries({ wrong, right })) {
  await client.send(new CreateTableCommand({
    TableName: name,
    AttributeDefinitions: [{ AttributeName: "PK", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }],
    ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 },
  }));
  await waitUntilTableExists({ client, maxWaitTime: 600, minDelay: 1, maxDelay: 2 }, { TableName: name });
  const burst = await Promise.allSettled(Array.from({ length: 100 }, (_, order) => run(order)));
  const lost = burst.filter(({ status }) => status === "rejected").length;
  const result = lost ? `${lost} of 100 orders lost` : "all 100 orders stored";
  console.log(`${name}: ${result}`);
  process.send?.({ name, held: lost === 0, text: result });
}
