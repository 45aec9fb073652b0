// A twin behind HTTP, and the command that starts one.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get, request } from 'node:http';
import { connect } from 'node:net';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { Dynatwin } from 'dynatwin';
import { serve } from 'dynatwin/server';

const CLI = fileURLToPath(import.meta.resolve('dynatwin/package.json').replace('package.json', 'dist/esm/cli.js'));
const servers = [];
after(() => Promise.all(servers.map((server) => server.close())));

async function start(options, serverOptions) {
  const twin = new Dynatwin({ clock: 'settable', ...options });
  const server = await serve(twin, serverOptions);
  servers.push(server);
  const credentials = { accessKeyId: 'dynatwin', secretAccessKey: 'none' };
  const client = new DynamoDBClient({ endpoint: server.url, region: 'us-east-1', credentials, maxAttempts: 1 });
  return { twin, server, client, list: () => client.send(new ListTablesCommand({})) };
}

// `fetch` sets the headers of a page.
const status = (url, headers) =>
  new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });

test('clients have an address', async () => {
  const seen = [];
  const { twin, server, list } = await start({}, { onRequest: (request) => seen.push(request) });
  assert.deepEqual((await list()).TableNames, []);
  assert.equal((await fetch(`${server.url}/_dynatwin/clock`)).status, 200);
  assert.equal((await fetch(server.url)).status, 200);
  assert.deepEqual(seen.map(({ operation, path, status }) => [operation ?? path, status]), [
    ['ListTables', 200], ['/_dynatwin/clock', 200], ['/', 200],
  ]);
  twin.faults.add({ verdict: 'throttle' });
  await assert.rejects(list(), { name: 'ThrottlingException' });
});

test('the controls are described', async () => {
  const { server } = await start();
  const response = await fetch(`${server.url}/_dynatwin/openapi.json`);
  assert.equal(response.headers.get('content-type'), 'application/json');
  const document = await response.json();
  assert.deepEqual([response.status, document.openapi], [200, '3.1.0']);
  const file = fileURLToPath(import.meta.resolve('dynatwin/openapi.json'));
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), document);
});

test('connections fail as fault rules specify', async () => {
  const { twin, list } = await start();
  for (const verdict of ['reset', { truncate: 3 }]) {
    twin.faults.add({ verdict, first: 1 });
    await assert.rejects(list());
    assert.deepEqual((await list()).TableNames, []);
  }
});

test('a lost answer is never sent', async () => {
  const { twin, client } = await start();
  twin.faults.add({ verdict: 'answerLost' });
  const abort = new AbortController();
  const request = client.send(new ListTablesCommand({}), { abortSignal: abort.signal });
  setImmediate(() => abort.abort());
  await assert.rejects(request, { name: 'AbortError' });
});

test('latency does not move the settable clock of a server', async () => {
  const { twin, list } = await start({ conditions: { latency: { control: 5 } } });
  await list();
  assert.equal(twin.clock.now().toISOString(), '2026-01-01T00:00:00.000Z');
});

test('the wait of a rule ends when the clock of a server is moved that far', async () => {
  const { twin, server, list } = await start();
  twin.faults.add({ verdict: { wait: 3600 } });
  const waiting = list();
  const advance = () => fetch(`${server.url}/_dynatwin/clock/advance`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"seconds": 1800}',
  });
  while (twin.faults.report()[0].fired === 0) await new Promise(setImmediate);
  assert.equal(await Promise.race([waiting, advance().then(() => 'still waiting')]), 'still waiting');
  await advance();
  assert.deepEqual((await waiting).TableNames, []);
  assert.equal(twin.clock.now().toISOString(), '2026-01-01T01:00:00.000Z');
});

test('web pages are refused', async () => {
  const { server } = await start();
  const browser = { 'user-agent': 'Mozilla/5.0' };
  const { port } = server;
  assert.equal(await status(server.url, { origin: 'https://example.com' }), 403);
  assert.equal(await status(server.url, { ...browser, host: `rebound.example:${port}` }), 403);
  assert.equal(await status(server.url, { host: `dynatwin:${port}` }), 200);
  for (const host of ['localhost', '127.0.0.1', '[::1]', 'app.localhost']) {
    assert.equal(await status(server.url, { ...browser, host: `${host}:${port}` }), 200, host);
  }
  for (const host of ['notlocalhost', 'localhost.example', '127.0.0.1.example', '128.0.0.1', '[::1].example']) {
    assert.equal(await status(server.url, { ...browser, host: `${host}:${port}` }), 403, host);
  }
});

// Sends a body of this many bytes; `headers` decide between a content length and chunks.
const post = (url, bytes, headers) =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers }, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve([response.statusCode, text]);
    });
    // The server may close the connection before it has read the rest.
    sent.on('error', (error) => (error.code === 'EPIPE' || error.code === 'ECONNRESET' ? undefined : reject(error)));
    sent.end(new Uint8Array(bytes));
  });

test('a body of 48 MiB is passed to the engine, and a larger one is refused', async () => {
  const seen = [];
  const { server } = await start({}, { onRequest: ({ status }) => seen.push(status) });
  const refusal = 'The body is larger than 48 MiB.\n';
  for (const headers of [{ 'content-length': 48 << 20 }, { 'transfer-encoding': 'chunked' }]) {
    const [status, text] = await post(server.url, 48 << 20, headers);
    assert.notEqual(text, refusal);
    assert.deepEqual(seen.splice(0), [status]);
  }
  for (const headers of [{ 'content-length': (48 << 20) + 1 }, { 'transfer-encoding': 'chunked' }]) {
    assert.deepEqual(await post(server.url, (48 << 20) + 1, headers), [413, refusal]);
    assert.deepEqual(seen, []);
  }
});

// Sends raw bytes, and returns what was received, and how the connection ended.
const raw = (port, bytes) =>
  new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (data) => (text += data));
    socket.on('error', ({ code }) => resolve([text, code]));
    socket.on('end', () => resolve([text, 'end']));
  });

test('a reset connection is reset, not closed', async () => {
  const { twin, server } = await start();
  const asked = 'GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n';
  const [answered, ended] = await raw(server.port, asked);
  assert.match(answered, /^HTTP\/1\.1 200 OK\r\n/);
  assert.equal(ended, 'end');
  twin.faults.add({ verdict: 'reset', operation: 'ListTables' });
  const target = 'x-amz-target: DynamoDB_20120810.ListTables\r\ncontent-type: application/x-amz-json-1.0\r\n';
  const credentials = 'authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=b\r\nx-amz-date: 20260101T000000Z\r\n';
  const list = `POST / HTTP/1.1\r\nhost: localhost\r\n${target}${credentials}content-length: 2\r\n\r\n{}`;
  assert.deepEqual(await raw(server.port, list), ['', 'ECONNRESET']);
});

test('HEAD is answered without a body', async () => {
  const { server } = await start();
  const [answered, ended] = await raw(server.port, 'HEAD /_dynatwin/clock HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  const [head, body] = answered.split('\r\n\r\n');
  const announced = Number(/^content-length: (\d+)$/im.exec(head)[1]);
  assert.ok(announced > 0, head);
  assert.deepEqual([body, ended], ['', 'end']);
});

test('the latency of a held answer does not prolong its wait', { timeout: 60_000 }, async () => {
  const { twin, server, list } = await start({ conditions: { latency: { control: 1800 } } });
  twin.faults.add({ verdict: { wait: 3600 } });
  const waiting = list();
  while (twin.faults.report()[0].fired === 0) await new Promise(setImmediate);
  const advance = (seconds) => fetch(`${server.url}/_dynatwin/clock/advance`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ seconds }),
  });
  assert.equal(await Promise.race([waiting, advance(3599).then(() => 'still waiting')]), 'still waiting');
  await advance(1);
  assert.deepEqual((await waiting).TableNames, []);
  assert.equal(twin.clock.now().toISOString(), '2026-01-01T01:00:00.000Z');
});

test('real time does not end the wait of a rule while the clock is frozen', { timeout: 60_000 }, async (context) => {
  const { twin, list } = await start();
  twin.faults.add({ verdict: { wait: 5 } });
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let answered = false;
  const waiting = list().finally(() => (answered = true));
  while (twin.faults.report()[0].fired === 0) await new Promise(setImmediate);
  const pass = async (seconds) => {
    for (let tenths = 10 * seconds; tenths > 0; tenths -= 1) {
      context.mock.timers.tick(100);
      await new Promise(setImmediate);
    }
  };
  await pass(2);
  twin.clock.freeze();
  await pass(10);
  twin.clock.unfreeze();
  await pass(2);
  assert.equal(answered, false);
  await pass(1);
  context.mock.timers.reset();
  assert.deepEqual((await waiting).TableNames, []);
  assert.equal(twin.clock.now().toISOString(), '2026-01-01T00:00:00.000Z');
});

test('the URL of an IPv6 address has brackets', async () => {
  const { server, list } = await start({}, { host: '::1' });
  assert.equal(server.url, `http://[::1]:${server.port}`);
  assert.deepEqual((await list()).TableNames, []);
  assert.equal(await status(server.url, { 'user-agent': 'Mozilla/5.0', host: `[::1]:${server.port}` }), 200);
});

test('a disposed server no longer listens', async () => {
  const server = await serve(new Dynatwin());
  server[Symbol.dispose]();
  await assert.rejects(fetch(server.url));
});

const command = (...words) => started(words, { DYNATWIN_ENGINE: 'wasm' });

function started(words, environment) {
  const child = spawn(process.execPath, [CLI, ...words], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...environment } });
  let output = '';
  child.stdout.on('data', (data) => (output += data));
  child.stderr.on('data', (data) => (output += data));
  const ended = once(child, 'exit');
  const line = async () => {
    while (!output.includes('\n')) await Promise.race([once(child.stdout, 'data'), ended]);
    return output;
  };
  return { child, line, ended: async () => [(await ended)[0], output] };
}

const REFUSED = [
  [['--prot', '1'], /^--prot is not a flag; --help lists them/],
  [['8000'], /^8000 is not a flag/],
  [['-dbPath', 'x'], /^-dbPath is not a flag/],
  [['--port', 'x'], /^--port: 'x' is not PORT/],
  [['--port=65536'], /^--port=65536: '65536' is not PORT/],
  [['--port'], /^--port takes a value: PORT/],
  [['--shared-db=maybe'], /^--shared-db=maybe: --shared-db takes no value/],
  [['--seed', '-1'], /^--seed: '-1' is not N/],
  [['--seed', '18446744073709551616'], /^--seed: '18446744073709551616' is not N/],
  [['--conditions', 'rain'], /^--conditions: 'rain' is not calm\|aws\|storm/],
  [['--clock', 'tomorrow'], /^--clock: 'tomorrow' is not system\|settable\|MOMENT/],
  [['--clock', '2026-13-01T00:00:00Z'], /"2026-13-01T00:00:00Z" is not a time/],
  [['--speed', '0'], /^--speed: '0' is not X/],
  [['--clock', 'settable', '--speed', '2'], /^--speed: a settable clock stands still/],
  [['--log', 'all'], /^--log: 'all' is not off\|errors\|requests/],
];
for (const [words, message] of REFUSED) {
  test(`dynatwin ${words.join(' ')}`, async () => {
    const [code, output] = await (await command(...words)).ended();
    assert.match(output, message);
    assert.equal(code, 2);
  });
}

test('dynatwin --help and --version', async () => {
  const [code, help] = await (await command('--help')).ended();
  assert.equal(code, 0);
  for (const flag of ['--port PORT', '--shared-db', '--clock system|settable|MOMENT']) assert.ok(help.includes(flag), flag);
  assert.deepEqual(await (await command('--version')).ended(), [0, 'dynatwin 0.1.0\n']);
});

const STARTED = [
  [['--port', '0', '--seed', '7'], /seed 7\n/],
  [['-port', '0', '-inMemory', '-sharedDb'], /listens on http:\/\/127\.0\.0\.1:\d+, seed \d+\n/],
  [['--port=0', '--clock', '2030-01-01T00:00:00Z', '--speed', '2', '--conditions', 'storm', '--log', 'off', '--host', 'localhost'], /listens on http/],
];

test('--clock and --speed', async () => {
  const thisYear = String(new Date().getUTCFullYear());
  for (const [words, expected] of [
    [[], { year: thisYear, settable: false, speed: 1 }],
    [['--speed', '3'], { year: thisYear, settable: false, speed: 3 }],
    [['--clock', '2030-06-01T00:00:00Z'], { year: '2030', settable: false, speed: 1 }],
    [['--clock', '2030-06-01T00:00:00Z', '--speed', '3'], { year: '2030', settable: false, speed: 3 }],
    [['--clock', 'settable'], { year: '2026', settable: true, speed: 0 }],
  ]) {
    const { child, line, ended } = await command('--port=0', ...words);
    const [url] = /http:[^,]*:\d+/.exec(await line());
    const { now, settable, speed } = await (await fetch(`${url}/_dynatwin/clock`)).json();
    assert.deepEqual({ year: now.slice(0, 4), settable, speed }, expected, words.join(' '));
    child.kill('SIGTERM');
    await ended();
  }
});

for (const [words, message] of STARTED) {
  test(`dynatwin ${words.join(' ')}`, async () => {
    const { child, line, ended } = await command(...words);
    assert.match(await line(), message);
    child.kill('SIGTERM');
    assert.equal((await ended())[0], 0);
  });
}

// The native server is a script of this package.
const NATIVE = mkdtempSync(join(tmpdir(), 'dynatwin-native-'));
after(() => rmSync(NATIVE, { recursive: true }));

function native(code) {
  const folder = join(NATIVE, '@dynatwin', `${process.platform}-${process.arch}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'dynatwin'), `#!${process.execPath}\n${code}\nconsole.log('ready', ...process.argv.slice(2));`, { mode: 0o755 });
  return started(['--port', '0'], { NODE_PATH: NATIVE, DYNATWIN_ENGINE: '' });
}

const EXITS = [
  ['process.exitCode = 3;', undefined, 3],
  ["process.on('exit', () => process.kill(process.pid, 'SIGKILL'));", undefined, 128 + constants.signals.SIGKILL],
  ['setInterval(() => {}, 1e6);', 'SIGTERM', 128 + constants.signals.SIGTERM],
  ['setInterval(() => {}, 1e6);', 'SIGHUP', 128 + constants.signals.SIGHUP],
  ["setInterval(() => {}, 1e6); process.on('SIGINT', () => process.exit(0));", 'SIGINT', 0],
];
for (const [code, signal, exit] of EXITS) {
  test(`the command ends like the native server: ${code} ${signal}`, { skip: process.platform === 'win32' }, async () => {
    const { child, line, ended } = native(code);
    assert.equal(await line(), 'ready --port 0\n');
    if (signal) child.kill(signal);
    assert.equal((await ended())[0], exit);
  });
}
