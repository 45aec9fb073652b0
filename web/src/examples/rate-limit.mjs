// A rate limiter counts where it decides. An index shows an earlier state.
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand, QueryCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";

const client = new DynamoDBClient({ maxAttempts: 20 });
const db = DynamoDBDocumentClient.from(client);
const TableName = "Calls";
const LIMIT = 10;

// Counts the calls that the index lists, and adds one.
async function wrong(call) {
  const { Count } = await db.send(new QueryCommand({
    TableName, IndexName: "by-caller", Select: "COUNT",
    KeyConditionExpression: "caller = :ada", ExpressionAttributeValues: { ":ada": "ada" },
  }));
  if (Count >= LIMIT) return false;
  await db.send(new PutCommand({ TableName, Item: { PK: `CALL#${call}`, caller: "ada" } }));
  return true;
}

// Counts under a condition, in one write.
async function right() {
  try {
    await db.send(new UpdateCommand({
      TableName, Key: { PK: "RATE#ada" },
      UpdateExpression: "ADD calls :one",
      ConditionExpression: "attribute_not_exists(calls) OR calls < :limit",
      ExpressionAttributeValues: { ":one": 1, ":limit": LIMIT },
    }));
    return true;
  } catch (error) {
    if (error.name !== "ConditionalCheckFailedException") throw error;
    return false;
  }
}

await client.send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: ["PK", "caller"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
  KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }],
  GlobalSecondaryIndexes: [{ IndexName: "by-caller", KeySchema: [{ AttributeName: "caller", KeyType: "HASH" }], Projection: { ProjectionType: "ALL" } }],
}));
await waitUntilTableExists({ client, maxWaitTime: 600, minDelay: 1, maxDelay: 2 }, { TableName });

for (const [name, run] of Object.entries({ wrong, right })) {
  let admitted = 0;
  for (let call = 0; call < 24; call++) if (await run(call)) admitted++;
  const result = `${admitted} of 24 calls admitted, with a limit of ${LIMIT}`;
  console.log(`${name}: ${result}`);
  process.send?.({ name, held: admitted <= LIMIT, text: result });
}
