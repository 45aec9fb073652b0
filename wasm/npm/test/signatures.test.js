// Requests that the SDK signs, against the server with configured principals.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';

const BINARY = process.env.DYNATWIN_BIN ?? fileURLToPath(new URL('../../../target/debug/dynatwin', import.meta.url));
const list = { Statement: { Effect: 'Allow', Action: 'dynamodb:ListTables', Resource: '*' } };
const ann = {
  policies: [list],
  accessKeys: [{ accessKeyId: 'AKIAANN', secretAccessKey: 'secret of ann' }],
  sessions: [
    { accessKeyId: 'ASIAANN', secretAccessKey: 'session secret', sessionToken: 'session token' },
    { accessKeyId: 'ASIAOLD', secretAccessKey: 'old secret', sessionToken: 'old token', expires: '2026-01-01T00:00:00Z' },
  ],
};
const iam = { accounts: { '123456789012': { users: { ann } } } };
const USER = { accessKeyId: 'AKIAANN', secretAccessKey: 'secret of ann' };
const SESSION = { accessKeyId: 'ASIAANN', secretAccessKey: 'session secret', sessionToken: 'session token' };

let server, port, folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dynatwin-'));
  writeFileSync(join(folder, 'access.json'), JSON.stringify(iam));
  server = spawn(BINARY, ['--port', '0', '--iam', join(folder, 'access.json')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface(server.stdout), 'line');
  port = Number(/127\.0\.0\.1:(\d+)/.exec(line)[1]);
});
after(async () => {
  server.kill();
  await once(server, 'exit');
  rmSync(folder, { recursive: true });
});

/** What a ListTables gets: `listed`, or the error's name and message. */
async function answer({ credentials = USER, region = 'us-east-1', host = '127.0.0.1', ahead = 0, body }) {
  // Resolves every host to the server.
  const lookup = (_, options, done) => (options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4));
  const client = new DynamoDBClient({
    endpoint: `http://${host}:${port}`,
    region,
    credentials,
    maxAttempts: 1,
    systemClockOffset: ahead * 1000,
    requestHandler: { httpAgent: new Agent({ lookup }) },
  });
  if (body) {
    // Runs after the step that signs.
    client.middlewareStack.addRelativeTo(
      (next) => (args) => {
        args.request.body = body;
        args.request.headers['content-length'] = String(body.length);
        return next(args);
      },
      { relation: 'after', toMiddleware: 'httpSigningMiddleware' },
    );
  }
  try {
    await client.send(new ListTablesCommand({}));
    return 'listed';
  } catch (error) {
    return `${error.name}: ${error.message}`;
  } finally {
    client.destroy();
  }
}

const MISMATCH = 'InvalidSignatureException: The request signature we calculated does not match';
const UNKNOWN = 'UnrecognizedClientException: The security token included in the request is invalid';
const REGION = 'InvalidSignatureException: Credential should be scoped to a valid region.';
for (const [what, signer, expected] of [
  ['a user', {}, 'listed'],
  ['a session', { credentials: SESSION }, 'listed'],
  ['another region', { region: 'eu-west-1' }, 'listed'],
  ['a clock four minutes behind', { ahead: -240 }, 'listed'],
  ['a wrong secret', { credentials: { ...USER, secretAccessKey: 'wrong' } }, MISMATCH],
  ['a wrong session secret', { credentials: { ...SESSION, secretAccessKey: 'wrong' } }, MISMATCH],
  ['an unknown key', { credentials: { ...USER, accessKeyId: 'AKIAEVE' } }, UNKNOWN],
  ['a wrong token', { credentials: { ...SESSION, sessionToken: 'wrong' } }, UNKNOWN],
  ['a missing token', { credentials: { ...SESSION, sessionToken: undefined } }, UNKNOWN],
  ['a token beside a key of a user', { credentials: { ...USER, sessionToken: 'session token' } }, UNKNOWN],
  ['an expired token', { credentials: { accessKeyId: 'ASIAOLD', secretAccessKey: 'old secret', sessionToken: 'old token' } }, 'ExpiredTokenException: The security token included in the request is expired'],
  ['a clock ten minutes behind', { ahead: -600 }, 'InvalidSignatureException: Signature expired: '],
  ['a clock ten minutes ahead', { ahead: 600 }, 'InvalidSignatureException: Signature not yet current: '],
  ['no region', { region: 'nowhere' }, REGION],
  ['the region of another endpoint', { host: 'dynamodb.eu-west-1.amazonaws.com' }, REGION],
  ['the region of its endpoint', { host: 'dynamodb.us-east-1.amazonaws.com' }, 'listed'],
  ['a changed body', { body: '{"Limit":1}' }, MISMATCH],
]) {
  test(`the server verifies ${what}`, async () => {
    const found = await answer(signer);
    assert.ok(found.startsWith(expected), found);
    assert.doesNotMatch(found, /secret|session token/);
  });
}

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const hmac = (key, text) => createHmac('sha256', key).update(text).digest();

/** A ListTables whose signature is in the query, for the SDK offers none for DynamoDB. */
async function presigned({ accessKeyId, secretAccessKey, sessionToken }, { ahead = 0, change = (path) => path } = {}) {
  const date = `${new Date(Date.now() + ahead * 1000).toISOString().replace(/[-:]|\.\d+/g, '')}`;
  const scope = [date.slice(0, 8), 'us-east-1', 'dynamodb', 'aws4_request'];
  const headers = { 'content-type': 'application/x-amz-json-1.0', host: `127.0.0.1:${port}`, 'x-amz-target': 'DynamoDB_20120810.ListTables' };
  const query = new Map([
    ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'],
    ['X-Amz-Credential', `${accessKeyId}/${scope.join('/')}`],
    ['X-Amz-Date', date],
    ['X-Amz-Expires', '60'],
    ...(sessionToken ? [['X-Amz-Security-Token', sessionToken]] : []),
    ['X-Amz-SignedHeaders', Object.keys(headers).join(';')],
  ]);
  const encoded = [...query].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`).join('');
  const canonical = ['POST', '/', encoded, lines, Object.keys(headers).join(';'), sha256('{}')].join('\n');
  const key = scope.reduce(hmac, `AWS4${secretAccessKey}`);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\n')).toString('hex');
  const path = change(`/?${encoded}&X-Amz-Signature=${signature}`);
  const sent = request({ host: '127.0.0.1', port, method: 'POST', path, headers });
  sent.end('{}');
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const part of response) text += part;
  return `${response.statusCode} ${text}`;
}

test('the server verifies presigned requests', async () => {
  for (const [credentials, options, expected] of [
    [USER, {}, /^200 \{"TableNames"/],
    [SESSION, {}, /^200 \{"TableNames"/],
    [{ ...USER, secretAccessKey: 'wrong' }, {}, /does not match/],
    [USER, { change: (path) => path.replace('Expires=60', 'Expires=600') }, /does not match/],
    [USER, { ahead: -3600 }, /Signature expired/],
    [USER, { ahead: 3600 }, /Signature not yet current/],
  ]) {
    assert.match(await presigned(credentials, options), expected);
  }
});
