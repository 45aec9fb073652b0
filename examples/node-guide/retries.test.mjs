// What the SDK for JavaScript retries over HTTP, and what a retry finds. The fault rules are set through the controls
// under /_dynatwin/. In one process, without a server: wasm/npm/test/retries.test.js. In Rust:
// examples/lessons/src/retries.rs. In Python: examples/python-guide/test_retries.py.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from "@aws-sdk/client-dynamodb";

const endpoint = process.env.ENDPOINT ?? "http://localhost:8000";
const TableName = `Retries-${randomUUID()}`;
const settings = {
  endpoint,
  region: "us-west-2",
  credentials: { accessKeyId: "example", secretAccessKey: "example" },
  // Waits half a second for an answer.
  requestHandler: { requestTimeout: 500, throwOnRequestTimeout: true },
};
const client = new DynamoDBClient(settings);

/** Calls one of the emulator's controls. */
async function control(method, path, body) {
  const headers = body && { "content-type": "application/json" };
  const answer = await fetch(`${endpoint}/_dynatwin/${path}`, { method, headers, body: JSON.stringify(body) });
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
}

/** Runs `work` under a fault rule; returns its result, and the rule's counters. */
async function under(rule, work) {
  const { id } = await control("POST", "faults", { operation: "PutItem", table: TableName, ...rule });
  const [outcome] = await Promise.allSettled([work()]);
  const { matched, fired } = await control("DELETE", `faults/${id}`);
  return { outcome, matched, fired };
}

const put = (key, more) => client.send(new PutItemCommand({ TableName, Item: { PK: { S: key } }, ...more }));

before(() =>
  client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [{ AttributeName: "PK", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "PK", KeyType: "HASH" }],
    }),
  ),
);

after(() => client.send(new DeleteTableCommand({ TableName })));

for (const verdict of ["throttle", "internalServerError", "serviceUnavailable", "reset", "answerLost"]) {
  test(`what fails twice passes at the third attempt: ${verdict}`, async () => {
    const { outcome, matched, fired } = await under({ verdict, first: 2 }, () => put(verdict));
    assert.equal(outcome.status, "fulfilled", outcome.reason);
    assert.equal(outcome.value.$metadata.attempts, 3);
    assert.deepEqual({ matched, fired }, { matched: 3, fired: 2 });
  });
}

test("polling stops after its limit", async () => {
  const impatient = new DynamoDBClient({ ...settings, maxAttempts: 3 });
  const Item = { PK: { S: "never" } };
  const { outcome, fired } = await under({ verdict: "throttle" }, () =>
    impatient.send(new PutItemCommand({ TableName, Item })),
  );
  assert.equal(outcome.reason?.name, "ThrottlingException");
  assert.equal(fired, 3);
});

test("the retry of a lost answer meets its own write", async () => {
  const ConditionExpression = "attribute_not_exists(PK)";
  const { outcome, matched, fired } = await under({ verdict: "answerLost", first: 1 }, () =>
    put("once", { ConditionExpression }),
  );
  assert.equal(outcome.reason?.name, "ConditionalCheckFailedException");
  assert.deepEqual({ matched, fired }, { matched: 2, fired: 1 });
  const { Item } = await client.send(new GetItemCommand({ TableName, Key: { PK: { S: "once" } } }));
  assert.deepEqual(Item, { PK: { S: "once" } }, "it was carried out all the same");
});
