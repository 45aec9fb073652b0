// The key of an item prevents a job from running twice. A lookup in an index sees claims too late.
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand, QueryCommand } from "@aws-sdk/lib-dynamodb";

const client = new DynamoDBClient({ maxAttempts: 20 });
const db = DynamoDBDocumentClient.from(client);
const TableName = "Jobs";

// Claims a job that the index does not list yet.
async function wrong(worker) {
  const { Count } = await db.send(new QueryCommand({
    TableName, IndexName: "by-job", Select: "COUNT",
    KeyConditionExpression: "job = :job", ExpressionAttributeValues: { ":job": "report" },
  }));
  if (Count > 0) return false;
  await db.send(new PutCommand({ TableName, Item: { PK: `CLAIM#${worker}`, job: "report" } }));
  return true;
}

// The claim is a conditional write to the job's key. The answer may be lost and the write retried by the SDK, so the
// worker recognizes its own claim.
async function right(worker) {
  try {
    await db.send(new PutCommand({
      TableName, Item: { PK: "JOB#report", worker },
      ConditionExpression: "attribute_not_exists(PK) OR worker = :me", ExpressionAttributeValues: { ":me": worker },
    }));
    return true;
  } catch (error) {
    if (error.name !== "ConditionalCheckFailedException") throw error;
    return false;
  }
}

await client.send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: ["PK", "job"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
  KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }],
  GlobalSecondaryIndexes: [{ IndexName: "by-job", KeySchema: [{ AttributeName: "job", KeyType: "HASH" }], Projection: { ProjectionType: "KEYS_ONLY" } }],
}));
await waitUntilTableExists({ client, maxWaitTime: 600, minDelay: 1, maxDelay: 2 }, { TableName });

for (const [name, run] of Object.entries({ wrong, right })) {
  let claims = 0;
  for (let worker = 0; worker < 10; worker++) if (await run(worker)) claims++;
  const result = `${claims} of 10 workers run the job`;
  console.log(`${name}: ${result}`);
  process.send?.({ name, held: claims === 1, text: result });
}
