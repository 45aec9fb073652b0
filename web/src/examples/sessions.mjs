// Expired items can still be read: time to live deletes them hours later.
import { CreateTableCommand, DynamoDBClient, UpdateTimeToLiveCommand, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand, QueryCommand } from "@aws-sdk/lib-dynamodb";

const client = new DynamoDBClient({ maxAttempts: 20 });
const db = DynamoDBDocumentClient.from(client);
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const now = () => Math.floor(Date.now() / 1000);
const TableName = "Sessions";
const ofAda = {
  TableName, ConsistentRead: true,
  KeyConditionExpression: "PK = :user",
  ExpressionAttributeValues: { ":user": "USER#ada" },
};

// Treats every session that exists as live.
async function wrong() {
  return (await db.send(new QueryCommand(ofAda))).Items;
}

// Checks the time of a session when it is read.
async function right() {
  const ExpressionAttributeValues = { ...ofAda.ExpressionAttributeValues, ":now": now() };
  return (await db.send(new QueryCommand({ ...ofAda, FilterExpression: "expiresAt > :now", ExpressionAttributeValues }))).Items;
}

await client.send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: ["PK", "SK"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
  KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }, { AttributeName: "SK", KeyType: "RANGE" }],
}));
await waitUntilTableExists({ client, maxWaitTime: 600, minDelay: 1, maxDelay: 2 }, { TableName });
const TimeToLiveSpecification = { Enabled: true, AttributeName: "expiresAt" };
await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
const expiresAt = now() + 7 * 86_400;
for (let id = 0; id < 20; id++) {
  await db.send(new PutCommand({ TableName, Item: { PK: "USER#ada", SK: `SESSION#${id}`, expiresAt } }));
}
await sleep(7 * 86_400_000 + 60_000); // a minute after the last second of all sessions

for (const [name, run] of Object.entries({ wrong, right })) {
  const live = (await run()).length;
  const result = live ? `${live} of 20 expired sessions let in` : "no expired session let in";
  console.log(`${name}: ${result}`);
  process.send?.({ name, held: live === 0, text: result });
}
