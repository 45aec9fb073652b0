// A task board on one table, as an application would write it: only the endpoint refers to the emulator. Each step
// checks its results, so the program fails where DynamoDB would behave differently.

import assert from "node:assert/strict";
import {
  CreateTableCommand,
  DynamoDBClient,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand, QueryCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";

const TableName = process.env.TABLE ?? "TaskBoard";
const endpoint = process.env.ENDPOINT ?? "http://localhost:8000";
const WEEK = 7 * 24 * 3600;

const client = new DynamoDBClient({
  endpoint,
  region: "us-west-2",
  credentials: { accessKeyId: "example", secretAccessKey: "example" },
});
const board = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });

const isNew = "attribute_not_exists(PK) AND attribute_not_exists(SK)";
const seconds = () => Math.floor(Date.now() / 1000);
const taskKey = (project, task) => ({ PK: `PROJECT#${project}`, SK: `TASK#${task}` });

/** Creates the table with expiring items; a table from an earlier run is reused. */
async function prepare() {
  const names = ["PK", "SK"];
  try {
    await client.send(
      new CreateTableCommand({
        TableName,
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
        KeySchema: names.map((AttributeName, index) => ({ AttributeName, KeyType: index ? "RANGE" : "HASH" })),
      }),
    );
  } catch (error) {
    if (error.name === "ResourceInUseException") return;
    throw error;
  }
  await waitUntilTableExists({ client, maxWaitTime: 30, minDelay: 1 }, { TableName });
  await client.send(
    new UpdateTimeToLiveCommand({
      TableName,
      TimeToLiveSpecification: { Enabled: true, AttributeName: "expiresAt" },
    }),
  );
}

/** Puts an item that must not exist yet. */
function create(item) {
  return board.send(new PutCommand({ TableName, Item: item, ConditionExpression: isNew }));
}

/** Returns the first page of a project's tasks, and the cost of reading it. */
async function tasksOf(project) {
  const page = await board.send(
    new QueryCommand({
      TableName,
      KeyConditionExpression: "PK = :pk AND begins_with(SK, :taskPrefix)",
      ExpressionAttributeValues: { ":pk": `PROJECT#${project}`, ":taskPrefix": "TASK#" },
      ReturnConsumedCapacity: "TOTAL",
    }),
  );
  return { tasks: page.Items, units: page.ConsumedCapacity.CapacityUnits };
}

/** Completes a task once, and only for its owner. */
async function complete(project, task, owner) {
  const { Attributes } = await board.send(
    new UpdateCommand({
      TableName,
      Key: taskKey(project, task),
      UpdateExpression: "SET #status = :done, updatedAt = :now",
      ConditionExpression: "ownerId = :ownerId AND #status <> :done",
      ExpressionAttributeNames: { "#status": "status" },
      ExpressionAttributeValues: { ":done": "DONE", ":ownerId": owner, ":now": new Date().toISOString() },
      ReturnValues: "ALL_NEW",
    }),
  );
  return Attributes;
}

/** Increments a counter that need not exist yet. */
async function count(user, window) {
  const { Attributes } = await board.send(
    new UpdateCommand({
      TableName,
      Key: { PK: `RATE#${user}`, SK: `WINDOW#${window}` },
      UpdateExpression: "ADD hits :one",
      ExpressionAttributeValues: { ":one": 1 },
      ReturnValues: "UPDATED_NEW",
    }),
  );
  return Attributes.hits;
}

const refused = { name: "ConditionalCheckFailedException" };
const run = `${process.pid}-${Date.now()}`;
const [project, task, owner] = [`board-${run}`, "write-the-docs", "ada"];

await prepare();
const item = { ...taskKey(project, task), title: "Write the docs", ownerId: owner, status: "OPEN" };
await create(item);
await assert.rejects(create(item), refused);
console.log("created the task once");

const { tasks, units } = await tasksOf(project);
assert.deepEqual(tasks, [item]);
assert.equal(units, 0.5);
console.log(`listed ${tasks.length} task for ${units} read units`);

await assert.rejects(complete(project, task, "eve"), refused);
const done = await complete(project, task, owner);
assert.equal(done.status, "DONE");
assert.equal(done.title, item.title);
await assert.rejects(complete(project, task, owner), refused);
console.log("completed it once, for its owner");

await create({ PK: `USER#${owner}`, SK: `SESSION#${run}`, expiresAt: seconds() + WEEK });
console.log("opened a session that expires in a week");

const event = { PK: "WEBHOOK#payments", SK: `EVENT#${run}` };
const racers = await Promise.allSettled(Array.from({ length: 50 }, () => create(event)));
assert.equal(racers.filter(({ status }) => status === "fulfilled").length, 1);
console.log("processed a webhook once, for 50 deliveries");

for (const expected of [1, 2, 3]) assert.equal(await count(owner, run), expected);
console.log("counted three requests");
