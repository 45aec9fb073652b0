// Why does my filter cost so much? A FilterExpression drops items after they were read and paid for.
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { BatchWriteCommand, DynamoDBDocumentClient, QueryCommand, ScanCommand } from "@aws-sdk/lib-dynamodb";

const client = new DynamoDBClient({});
const db = DynamoDBDocumentClient.from(client);
const TableName = "Orders";

async function wrong() {
  return db.send(new ScanCommand({
    TableName, ReturnConsumedCapacity: "TOTAL",
    FilterExpression: "#s = :open",
    ExpressionAttributeNames: { "#s": "status" }, ExpressionAttributeValues: { ":open": "OPEN" },
  }));
}

// An index by status stores the open orders together.
async function right() {
  return db.send(new QueryCommand({
    TableName, IndexName: "by-status", ReturnConsumedCapacity: "TOTAL",
    KeyConditionExpression: "#s = :open",
    ExpressionAttributeNames: { "#s": "status" }, ExpressionAttributeValues: { ":open": "OPEN" },
  }));
}

const key = (hash, range) => [{ AttributeName: hash, KeyType: "HASH" }, { AttributeName: range, KeyType: "RANGE" }];
await client.send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST", KeySchema: key("PK", "SK"),
  AttributeDefinitions: ["PK", "SK", "status"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
  GlobalSecondaryIndexes: [{ IndexName: "by-status", KeySchema: key("status", "SK"), Projection: { ProjectionType: "ALL" } }],
}));
await waitUntilTableExists({ client, maxWaitTime: 600, minDelay: 1, maxDelay: 2 }, { TableName });
const orders = Array.from({ length: 500 }, (_, n) => ({
  PK: `CUSTOMER#${n % 50}`, SK: `ORDER#${n}`, status: n % 100 ? "DONE" : "OPEN", note: "x".repeat(900),
}));
for (let at = 0; at < orders.length; at += 25) {
  let left = { [TableName]: orders.slice(at, at + 25).map((Item) => ({ PutRequest: { Item } })) };
  for (; Object.keys(left).length; await new Promise((done) => setTimeout(done, 100))) {
    left = (await db.send(new BatchWriteCommand({ RequestItems: left })).catch(() => ({ UnprocessedItems: left }))).UnprocessedItems;
  }
}
await new Promise((done) => setTimeout(done, 300_000)); // the index catches up

for (const [name, run] of Object.entries({ wrong, right })) {
  const { Items, ScannedCount, ConsumedCapacity } = await run();
  const result = `${Items.length} orders found, ${ScannedCount} read, ${ConsumedCapacity.CapacityUnits} RCU`;
  console.log(`${name}: ${result}`);
  process.send?.({ name, held: ConsumedCapacity.CapacityUnits <= 2, text: result });
}
