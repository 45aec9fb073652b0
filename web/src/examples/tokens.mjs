// A client token makes a transaction happen once, even if its answer is lost and the application calls again.
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";

const client = new DynamoDBClient({ maxAttempts: 20 });
const db = DynamoDBDocumentClient.from(new DynamoDBClient({ maxAttempts: 1 }));
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const TableName = "Accounts";

const add = (account, amount) => ({
  Update: { TableName, Key: { PK: account }, UpdateExpression: "ADD balance :n", ExpressionAttributeValues: { ":n": amount } },
});
const transfer = (name, more = {}) =>
  db.send(new TransactWriteCommand({ TransactItems: [add(`${name}#masa`, -900), add(`${name}#landlord`, 900)], ...more }));

// Each call is a separate transaction.
const wrong = () => transfer("wrong");

// The token names the payment, so that a second call is the same transaction.
const payment = `rent-${Date.now()}`;
const right = () => transfer("right", { ClientRequestToken: payment });

async function untilAnswered(call) {
  for (let attempt = 0; attempt < 40; attempt++) {
    try {
      return await call();
    } catch {
      await sleep(1_000);
    }
  }
}

await client.send(new CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: [{ AttributeName: "PK", AttributeType: "S" }],
  KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }],
}));
await waitUntilTableExists({ client, maxWaitTime: 600, minDelay: 1, maxDelay: 2 }, { TableName });

for (const [name, run] of Object.entries({ wrong, right })) {
  // The emulator loses the next four answers; the transactions are executed, unless they are throttled.
  const rule = { verdict: "answerLost", operation: "TransactWriteItems", first: 4 };
  await fetch("http://localhost:8000/_dynatwin/faults", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(rule),
  });
  await untilAnswered(run);
  await sleep(60_000);
  const read = { TableName, Key: { PK: `${name}#landlord` }, ConsistentRead: true };
  const paid = (await untilAnswered(() => db.send(new GetCommand(read)))).Item?.balance;
  const result = `the landlord was paid ${paid}, and the rent is 900`;
  console.log(`${name}: ${result}`);
  process.send?.({ name, held: paid === 900, text: result });
}
