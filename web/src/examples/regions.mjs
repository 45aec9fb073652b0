// A version check holds in one region. Of two concurrent writes in two regions the later one replaces the other.
import { CreateTableCommand, DynamoDBClient, UpdateTableCommand, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand } from "@aws-sdk/lib-dynamodb";

const [home, abroad] = ["us-east-1", "eu-west-1"].map((region) => new DynamoDBClient({ region, maxAttempts: 20 }));
const regions = [home, abroad].map((client) => DynamoDBDocumentClient.from(client));
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const TableName = "Accounts";
const PK = "ACCOUNT#masa";

// Adds to the balance unless it has changed since it was read. Each region checks its own replica.
async function wrong(db) {
  const { amount, version } = await balances.wrong(db);
  await db.send(new PutCommand({
    TableName, Item: { PK, SK: "BALANCE", amount: amount + 10, version: version + 1 },
    ConditionExpression: "attribute_not_exists(PK) OR version = :seen", ExpressionAttributeValues: { ":seen": version },
  })).catch((error) => {
    if (error.name !== "ConditionalCheckFailedException") throw error;
    return wrong(db);
  });
}

// Each deposit is a separate item, which no other write replaces. The balance is their sum.
async function right(db, deposit) {
  await db.send(new PutCommand({ TableName, Item: { PK, SK: `DEPOSIT#${deposit}`, amount: 10 } }));
}

const balances = {
  async wrong(db) {
    const { Item } = await db.send(new GetCommand({ TableName, Key: { PK, SK: "BALANCE" }, ConsistentRead: true }));
    return Item ?? { amount: 0, version: 0 };
  },
  async right(db) {
    const { Items } = await db.send(new QueryCommand({
      TableName, KeyConditionExpression: "PK = :pk AND begins_with(SK, :deposit)",
      ExpressionAttributeValues: { ":pk": PK, ":deposit": "DEPOSIT#" }, ConsistentRead: true,
    }));
    return { amount: Items.reduce((sum, { amount }) => sum + amount, 0) };
  },
};

const exists = (client) => waitUntilTableExists({ client, maxWaitTime: 3600, minDelay: 1, maxDelay: 5 }, { TableName });
await home.send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: ["PK", "SK"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
  KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }, { AttributeName: "SK", KeyType: "RANGE" }],
}));
await exists(home);
await home.send(new UpdateTableCommand({ TableName, ReplicaUpdates: [{ Create: { RegionName: "eu-west-1" } }] }));
await exists(abroad);

for (const [name, run] of Object.entries({ wrong, right })) {
  for (let deposit = 0; deposit < 10; deposit++) {
    await run(regions[deposit % 2], deposit);
    await sleep(100);
  }
  await sleep(1_200_000); // until every write has reached both regions
  const [here, there] = await Promise.all(regions.map((db) => balances[name](db)));
  const result = `ten deposits of 10 make ${here.amount} in us-east-1 and ${there.amount} in eu-west-1`;
  console.log(`${name}: ${result}`);
  process.send?.({ name, held: here.amount === 100 && there.amount === 100, text: result });
}
