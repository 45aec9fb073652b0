import { CreateTableCommand, DynamoDBClient, UpdateTimeToLiveCommand }
  from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand, QueryCommand }
  from "@aws-sdk/lib-dynamodb";

const client = new DynamoDBClient({ maxAttempts: 1 });
const db = DynamoDBDocumentClient.from(client);
const TableName = "Shop";
const S = (AttributeName) => ({ AttributeName, AttributeType: "S" });
const key = (pk, sk) => [{ AttributeName: pk, KeyType: "HASH" },
                         { AttributeName: sk, KeyType: "RANGE" }];

await client.send(new CreateTableCommand({ TableName,
  AttributeDefinitions: [S("PK"), S("SK"), S("status")],
  KeySchema: key("PK", "SK"),
  GlobalSecondaryIndexes: [{ IndexName: "by-status",
    KeySchema: key("status", "SK"),
    Projection: { ProjectionType: "ALL" } }],
  BillingMode: "PAY_PER_REQUEST",
  OnDemandThroughput: { MaxWriteRequestUnits: 4 },
}));
await client.send(new UpdateTimeToLiveCommand({ TableName,
  TimeToLiveSpecification: { Enabled: true,
                             AttributeName: "expiresAt" } }));

const open = { TableName, IndexName: "by-status", Select: "COUNT",
  KeyConditionExpression: "#s = :open",
  ExpressionAttributeNames: { "#s": "status" },
  ExpressionAttributeValues: { ":open": "OPEN" } };

for (let n = 1; n <= 2000; n++) { // five baskets a second
  const expiresAt = Math.floor(Date.now() / 1000) + 3;
  await db.send(new PutCommand({ TableName, Item: {
    PK: `USER#${n % 9}`, SK: `BASKET#${n}`, status: "OPEN", expiresAt,
  } })).catch((error) => console.warn(`basket ${n}: ${error.name}`));
  if (n % 5 === 0) {
    const { Count } = await db.send(new QueryCommand(open));
    console.log("open baskets:", Count);
  }
  await new Promise((done) => setTimeout(done, 200));
}
