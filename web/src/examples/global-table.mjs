import { CreateTableCommand, DynamoDBClient, UpdateTableCommand }
  from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand, PutCommand }
  from "@aws-sdk/lib-dynamodb";

const regions = ["us-east-1", "eu-west-1"];
const clients = regions.map((region) => new DynamoDBClient({ region }));
const dbs = clients.map((client) => DynamoDBDocumentClient.from(client));
const TableName = "Carts";

await clients[0].send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: [{ AttributeName: "PK", AttributeType: "S" }],
  KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }],
}));
await clients[0].send(new UpdateTableCommand({ TableName,
  ReplicaUpdates: [{ Create: { RegionName: regions[1] } }] }));

for (let n = 1; n <= 5000; n++) {
  const writer = n % 2;
  const PK = `CART#${Math.floor(n / 3) % 9}`; // three writes each
  await dbs[writer].send(new PutCommand({ TableName,
    Item: { PK, n, region: regions[writer] } }));
  const { Item } = await dbs[1 - writer].send(
    new GetCommand({ TableName, Key: { PK }, ConsistentRead: true }));
  console.log(`${regions[writer]} wrote ${PK}: ${n};`,
    `${regions[1 - writer]} has ${Item?.n ?? "none"}`);
  await new Promise((done) => setTimeout(done, 500));
}
