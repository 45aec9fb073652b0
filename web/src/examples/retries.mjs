// A lost answer: the write was executed, and the SDK's retry finds its own item.
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";

const client = new DynamoDBClient({ maxAttempts: 20 });
const db = DynamoDBDocumentClient.from(client);
const TableName = "Orders";

// Does a refusal mean that another client was first?
async function wrong(order) {
  const Item = { PK: order, maker: "this call" };
  try {
    await db.send(new PutCommand({ TableName, Item, ConditionExpression: "attribute_not_exists(PK)" }));
    return "created here";
  } catch (error) {
    if (error.name !== "ConditionalCheckFailedException") throw error;
    return "created elsewhere";
  }
}

// The refusal returns the existing item, and its maker.
async function right(order) {
  const Item = { PK: order, maker: "this call" };
  const ConditionExpression = "attribute_not_exists(PK)";
  try {
    await db.send(new PutCommand({ TableName, Item, ConditionExpression, ReturnValuesOnConditionCheckFailure: "ALL_OLD" }));
    return "created here";
  } catch (error) {
    if (error.name !== "ConditionalCheckFailedException") throw error;
    return error.Item?.maker === "this call" || error.Item?.maker?.S === "this call" ? "created here" : "created elsewhere";
  }
}

await client.send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: [{ AttributeName: "PK", AttributeType: "S" }],
  KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }],
}));
await waitUntilTableExists({ client, maxWaitTime: 600, minDelay: 1, maxDelay: 2 }, { TableName });

for (const [name, run] of Object.entries({ wrong, right })) {
  // The emulator loses the next four answers; the puts are executed, unless they are throttled.
  const rule = { verdict: "answerLost", operation: "PutItem", partition: `ORDER#${name}`, first: 4 };
  await fetch("http://localhost:8000/_dynatwin/faults", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(rule),
  });
  const result = await run(`ORDER#${name}`);
  console.log(`${name}: ${result}`);
  process.send?.({ name, held: result === "created here", text: result });
}
