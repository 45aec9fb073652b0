// The guide's scenario: a task board, sessions, webhooks and a rate limit in one table. Plain application code.

import {
  CreateTableCommand,
  DescribeTableCommand,
  ResourceInUseException,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import { PutCommand, QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { count, length } from './element';
import type { World } from './twin';

export const TABLE = 'TaskBoard';
export const DAY = 86_400;
const PROJECT = 'PROJECT#apollo';
const SESSION = { PK: 'SESSION#ada', SK: 'SESSION' };
const OWNER = 'ada';
const UNLESS_THERE = 'attribute_not_exists(PK) AND attribute_not_exists(SK)';
const RACERS = 50;

export interface Step {
  id: string;
  title: string;
  about: string;
  /** The words for what came of it; what it throws is an answer that was not expected. */
  run(world: World): Promise<string>;
}

export const STEPS: Step[] = [
  {
    id: 'create-table',
    title: 'Create the table',
    about: 'Keys PK and SK, paid by request, time to live on expiresAt.',
    run: createTable,
  },
  {
    id: 'create-task',
    title: 'Create a task',
    about: 'A put that insists that nothing is there yet.',
    async run(world) {
      await putTask(world);
      return 'TASK#001 was created.';
    },
  },
  {
    id: 'duplicate',
    title: 'Create it again',
    about: 'The same put: the condition must refuse it.',
    async run(world) {
      await refusal(putTask(world));
      return 'Refused with ConditionalCheckFailedException, as it should be.';
    },
  },
  {
    id: 'list',
    title: 'List the project’s tasks',
    about: 'A query by prefix, which also asks what it costs.',
    run: listTasks,
  },
  {
    id: 'complete',
    title: 'Complete the task',
    about: 'An update for the owner only, and only once.',
    async run(world) {
      const { Attributes } = await completeTask(world);
      return `The status is ${Attributes?.['status']} now, since ${Attributes?.['updatedAt']}.`;
    },
  },
  {
    id: 'complete-again',
    title: 'Complete it again',
    about: 'It is done: the condition must refuse it.',
    async run(world) {
      await refusal(completeTask(world));
      return 'Refused with ConditionalCheckFailedException, as it should be.';
    },
  },
  {
    id: 'session',
    title: 'Open a session',
    about: 'It expires seven days from now, by the twin’s clock.',
    run: openSession,
  },
  {
    id: 'webhook',
    title: 'Receive a webhook 50 times',
    about: 'Fifty racers put the same event: one may win.',
    run: race,
  },
  {
    id: 'rate',
    title: 'Count five requests',
    about: 'A rate limit’s counter, five times ADD at once.',
    run: countRequests,
  },
];

async function createTable({ client, twin }: World): Promise<string> {
  try {
    await client.send(
      new CreateTableCommand({
        TableName: TABLE,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [
          { AttributeName: 'PK', AttributeType: 'S' },
          { AttributeName: 'SK', AttributeType: 'S' },
        ],
        KeySchema: [
          { AttributeName: 'PK', KeyType: 'HASH' },
          { AttributeName: 'SK', KeyType: 'RANGE' },
        ],
      }),
    );
  } catch (error) {
    if (error instanceof ResourceInUseException) return `The table ${TABLE} is there already.`;
    throw error;
  }
  const before = twin.clock.now();
  while ((await client.send(new DescribeTableCommand({ TableName: TABLE }))).Table?.TableStatus !== 'ACTIVE') {
    await twin.clock.sleep(1000);
  }
  await client.send(
    new UpdateTimeToLiveCommand({
      TableName: TABLE,
      TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
    }),
  );
  const waited = (twin.clock.now().getTime() - before.getTime()) / 1000;
  return `The table ${TABLE} is active${waited >= 1 ? ` after ${length(waited)} of the twin’s time` : ''}.`;
}

function putTask({ documents, twin }: World) {
  return documents.send(
    new PutCommand({
      TableName: TABLE,
      Item: {
        PK: PROJECT,
        SK: 'TASK#001',
        title: 'Book the launch pad',
        status: 'OPEN',
        ownerId: OWNER,
        createdAt: twin.clock.now().toISOString(),
      },
      ConditionExpression: UNLESS_THERE,
    }),
  );
}

async function listTasks({ documents }: World): Promise<string> {
  const page = await documents.send(
    new QueryCommand({
      TableName: TABLE,
      KeyConditionExpression: 'PK = :pk AND begins_with(SK, :taskPrefix)',
      ExpressionAttributeValues: { ':pk': PROJECT, ':taskPrefix': 'TASK#' },
      ReturnConsumedCapacity: 'TOTAL',
    }),
  );
  const units = page.ConsumedCapacity?.CapacityUnits;
  return `${count(page.Count ?? 0, 'task')}, for ${units} read capacity ${units === 1 ? 'unit' : 'units'}.`;
}

function completeTask({ documents, twin }: World) {
  return documents.send(
    new UpdateCommand({
      TableName: TABLE,
      Key: { PK: PROJECT, SK: 'TASK#001' },
      UpdateExpression: 'SET #status = :done, updatedAt = :now',
      ConditionExpression: 'ownerId = :ownerId AND #status <> :done',
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: { ':done': 'DONE', ':now': twin.clock.now().toISOString(), ':ownerId': OWNER },
      ReturnValues: 'ALL_NEW',
    }),
  );
}

async function openSession({ documents, twin }: World): Promise<string> {
  const expiresAt = Math.floor(twin.clock.now().getTime() / 1000) + 7 * DAY;
  await documents.send(new PutCommand({ TableName: TABLE, Item: { ...SESSION, userId: OWNER, expiresAt } }));
  return 'The session lives for 7 days. Push the clock past them and it goes.';
}

async function race({ documents }: World): Promise<string> {
  const event = `evt_${Date.now().toString(36)}`;
  const racers = Array.from({ length: RACERS }, (_, racer) =>
    documents.send(
      new PutCommand({
        TableName: TABLE,
        Item: { PK: `WEBHOOK#${event}`, SK: 'EVENT', racer },
        ConditionExpression: UNLESS_THERE,
      }),
    ),
  );
  const outcomes = await Promise.allSettled(racers);
  const won = outcomes.filter(({ status }) => status === 'fulfilled').length;
  const other = outcomes.find((outcome) => outcome.status === 'rejected' && nameOf(outcome.reason) !== REFUSED);
  if (other?.status === 'rejected') throw other.reason;
  if (won !== 1) throw new Error(`${won} of ${RACERS} racers won, and one should have.`);
  return `1 of ${RACERS} racers won, and ${RACERS - won} were refused.`;
}

async function countRequests({ documents }: World): Promise<string> {
  const add = () =>
    documents.send(
      new UpdateCommand({
        TableName: TABLE,
        Key: { PK: 'RATE#ada', SK: 'WINDOW' },
        UpdateExpression: 'ADD requests :one',
        ExpressionAttributeValues: { ':one': 1 },
        ReturnValues: 'UPDATED_NEW',
      }),
    );
  const answers = await Promise.all(Array.from({ length: 5 }, add));
  const counts = answers.map(({ Attributes }) => Number(Attributes?.['requests']));
  return `The counter went to ${Math.max(...counts)}; each answer had a number of its own.`;
}

const REFUSED = 'ConditionalCheckFailedException';

const nameOf = (error: unknown) => (error instanceof Error ? error.name : '');

/** Waits for the refusal that the step is about; its absence is an error. */
async function refusal(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (nameOf(error) === REFUSED) return;
    throw error;
  }
  throw new Error('It was accepted, and should have been refused.');
}
