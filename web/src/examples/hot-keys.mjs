// One key is throttled while its table is idle: a partition serves 1,000 write units a second, whatever the table's
// capacity.
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";

const client = new DynamoDBClient({ maxAttempts: 20 });
const db = DynamoDBDocumentClient.from(new DynamoDBClient({ maxAttempts: 1 }));
const payload = "x".repeat(9_500); // ten write units
const put = (TableName, PK, event) => db.send(new PutCommand({ TableName, Item: { PK, SK: `EVENT#${event}`, payload } }));

// All events of a day have one key.
async function wrong(event) {
  await put("wrong", "DAY#2026-01-01", event);
}

// The day is spread over ten keys. The key is derived from the event, so that the event can be found again.
async function right(event) {
  await put("right", `DAY#2026-01-01#${event % 10}`, event);
}

for (const [name, run] of Object.entries({ wrong, right })) {
  await client.send(new CreateTableCommand({
    TableName: name, BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: ["PK", "SK"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }, { AttributeName: "SK", KeyType: "RANGE" }],
  }));
  await waitUntilTableExists({ client, maxWaitTime: 600, minDelay: 1, maxDelay: 2 }, { TableName: name });
  // 1,500 units in one second, of the 4,000 write units of a new on-demand table.
  const outcomes = await Promise.allSettled(Array.from({ length: 150 }, (_, event) => run(event)));
  const throttled = outcomes.filter(({ reason }) => /Throughput|Throttling/.test(reason?.name)).length;
  const result = throttled ? `${throttled} of 150 events throttled` : "no event throttled";
  console.log(`${name}: ${result}`);
  process.send?.({ name, held: throttled < 30, text: result });
}
