// Retries whose pauses pass on the settable clock of a server: the header that a client sends with each attempt.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { ConfiguredRetryStrategy } from '@smithy/core/retry';
import { passPauses } from 'dynatwin';

// Throttles every request except each third one, and records the header of each.
async function throttling() {
  const advances = [];
  const server = createServer((request, response) => {
    request.resume();
    advances.push(request.headers['x-dynatwin-advance']);
    const passes = advances.length % 3 === 0;
    response.writeHead(passes ? 200 : 400, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(passes ? '{"TableNames":[]}' : '{"__type":"com.amazon.coral.availability#ThrottlingException"}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { advances, server, endpoint: `http://127.0.0.1:${server.address().port}` };
}

for (const cacheMiddleware of [false, true]) test(`each further attempt records the pause before it, with cacheMiddleware ${cacheMiddleware}`, async () => {
  const { advances, server, endpoint } = await throttling();
  const client = passPauses(new DynamoDBClient({
    endpoint,
    cacheMiddleware,
    region: 'us-east-1',
    credentials: { accessKeyId: 'example', secretAccessKey: 'example' },
    retryStrategy: new ConfiguredRetryStrategy(3, () => 20),
  }));
  const start = performance.now();
  try {
    const answers = [await client.send(new ListTablesCommand({})), await client.send(new ListTablesCommand({}))];
    assert.deepEqual(answers.map(({ $metadata }) => $metadata.attempts), [3, 3]);
    assert.deepEqual(advances.map((seconds) => seconds !== undefined), [false, true, true, false, true, true]);
    for (const seconds of advances.filter((seconds) => seconds !== undefined)) {
      assert.match(seconds, /^\d+\.\d{6}$/);
      assert.ok(Number(seconds) > 0.01, seconds);
    }
    const paused = advances.reduce((sum, seconds) => sum + Number(seconds ?? 0), 0);
    assert.ok(paused < (performance.now() - start) / 1000, `${paused} seconds`);
  } finally {
    client.destroy();
    server.close();
  }
});
