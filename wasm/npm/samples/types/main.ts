// What a strict compiler must accept, and what it must refuse.
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { useDynatwin as inJest } from 'dynatwin/jest';
import { serve } from 'dynatwin/server';
import { Dynatwin, passPauses, ready, type Answer, type Conditions, type FaultRule, type IndexState, type Snapshot } from 'dynatwin';

export async function main(): Promise<number> {
  await ready();
  using twin = new Dynatwin({ seed: 7n, clock: 'polling', conditions: { base: 'aws', throttles: 0.5 } });
  const client = passPauses(new DynamoDBClient({ ...twin.clientConfig(), maxAttempts: 3 }));
  using attachment = twin.attach(DynamoDBDocumentClient.from(client), { region: 'eu-west-1' });
  const rule: FaultRule = { verdict: { throttle: 'KeyRangeThroughput' }, operation: 'PutItem', first: 2, after: new Date() };
  twin.faults.add(rule);
  const conditions: Conditions = twin.conditions;
  twin.conditions = 'storm';
  const answer: Answer = twin.handle('POST', '/', { 'content-type': 'application/x-amz-json-1.0' }, '{}');
  const indexes: IndexState[] = twin.indexes('Tasks');
  const [result, spent] = await twin.capacitySpentBy(async () => 42);
  const wide: number = result + spent.write('Tasks') + indexes.length + conditions.throttles;
  attachment.detach();
  using snapshot: Snapshot = twin.snapshot();
  using fork = snapshot.fork();
  fork.restore(snapshot);
  const server = await serve(inJest({ tables: [{ TableName: 'Tasks', data: [{ id: '1' }] }], attach: client }), { port: 0 });
  await server.close();
  // @ts-expect-error: there is no such verdict
  twin.faults.add({ verdict: 'nonsense' });
  // @ts-expect-error: the seed is a number
  new Dynatwin({ seed: 'seven' });
  return wide + answer.status;
}
