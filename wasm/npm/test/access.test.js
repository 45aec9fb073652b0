// Access control: principals, their clients, and the policies that decide.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CreateTableCommand, DynamoDBClient, GetItemCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { Dynatwin } from 'dynatwin';

const ACCOUNT = '123456789012';
const TENANT = `arn:aws:iam::${ACCOUNT}:role/Tenant`;
const iam = {
  accounts: {
    [ACCOUNT]: {
      roles: {
        Tenant: {
          policies: [{
            Version: '2012-10-17',
            Statement: [{
              Effect: 'Allow', Action: ['dynamodb:GetItem', 'dynamodb:PutItem'], Resource: '*',
              Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['${aws:PrincipalTag/tenant}'] } },
            }],
          }],
        },
      },
      users: { ann: {} },
    },
  },
  vpcEndpoints: {
    'vpce-1': { policy: { Statement: { Effect: 'Allow', Principal: '*', Action: 'dynamodb:PutItem', Resource: '*' } } },
  },
};

async function start(options) {
  const twin = new Dynatwin({ seed: 1, clock: 'settable', iam, ...options });
  await createTable(twin);
  return twin;
}

const createTable = (twin) => client(twin.asRoot(ACCOUNT)).send(new CreateTableCommand({
  TableName: 'Items',
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }],
}));
const client = (principal) => new DynamoDBClient({ ...principal.clientConfig(), maxAttempts: 1 });
const get = (key) => new GetItemCommand({ TableName: 'Items', Key: { PK: { S: key } } });
const put = (key) => new PutItemCommand({ TableName: 'Items', Item: { PK: { S: key } } });
const refused = (action, reason) => ({
  name: 'AccessDeniedException',
  message: `User: arn:aws:sts::${ACCOUNT}:assumed-role/Tenant/session is not authorized to perform: dynamodb:${action} on resource: ` +
    `arn:aws:dynamodb:us-east-1:${ACCOUNT}:table/Items because no ${reason} allows the dynamodb:${action} action`,
});

test('a role sees what its tags and policies allow', async () => {
  const twin = await start();
  const blue = client(twin.asRole(TENANT, { tags: { tenant: 'blue' } }));
  await blue.send(put('blue'));
  assert.equal((await blue.send(get('blue'))).Item.PK.S, 'blue');
  await assert.rejects(blue.send(get('red')), refused('GetItem', 'identity-based policy'));
  await assert.rejects(blue.send(new ScanCommand({ TableName: 'Items' })), refused('Scan', 'identity-based policy'));
  assert.deepEqual(twin.items('Items', { accessKey: ACCOUNT }), [{ PK: { S: 'blue' } }]);
  await assert.rejects(client(twin.asUser(`arn:aws:iam::${ACCOUNT}:user/ann`)).send(get('blue')), { name: 'AccessDeniedException' });
  const stranger = new DynamoDBClient(new Dynatwin({ iam, clock: 'system' }).clientConfig());
  await assert.rejects(stranger.send(get('blue')), { name: 'UnrecognizedClientException' });
  assert.throws(() => twin.asRole(`arn:aws:iam::${ACCOUNT}:role/Nobody`), /There is no principal/);
});

test('session policies and endpoints limit', async () => {
  const twin = await start();
  const policies = [{ Statement: { Effect: 'Allow', Action: 'dynamodb:PutItem', Resource: '*' } }];
  const tags = { tenant: 'blue' };
  await assert.rejects(client(twin.asRole(TENANT, { tags, policies })).send(get('blue')), refused('GetItem', 'session policy'));
  const inside = client(twin.asRole(TENANT, { tags, vpcEndpoint: 'vpce-1' }));
  await inside.send(put('blue'));
  await assert.rejects(inside.send(get('blue')), refused('GetItem', 'VPC endpoint policy'));
});

test('a principal sends requests from its region and origin', async () => {
  const allow = (Condition) => ({ policies: [{ Statement: { Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: '*', Condition } }] });
  const twin = await start();
  twin.setAccess({
    accounts: {
      [ACCOUNT]: {
        roles: {
          Plain: allow({ Bool: { 'aws:SecureTransport': 'false' } }),
          Near: allow({ IpAddress: { 'aws:SourceIp': '10.0.0.0/8' } }),
          There: allow({ StringEquals: { 'aws:RequestedRegion': 'eu-west-1' } }),
        },
      },
    },
  });
  const role = (name, options) => client(twin.asRole(`arn:aws:iam::${ACCOUNT}:role/${name}`, options));
  for (const [name, options, refusal] of [
    ['Plain', { secureTransport: false }, undefined],
    ['Plain', { secureTransport: true }, 'AccessDeniedException'],
    ['Near', { sourceIp: '10.1.2.3' }, undefined],
    ['Near', { sourceIp: '11.1.2.3' }, 'AccessDeniedException'],
    // The table is in another region.
    ['There', { region: 'eu-west-1' }, 'ResourceNotFoundException'],
    ['There', {}, 'AccessDeniedException'],
  ]) {
    const outcome = await role(name, options).send(get('a')).then(() => undefined, (error) => error.name);
    assert.equal(outcome, refusal, `${name} ${JSON.stringify(options)}`);
  }
  assert.equal(await role('There', { region: 'eu-west-1' }).config.region(), 'eu-west-1');
});

test('federated users, and keys of a session', async () => {
  const twin = await start();
  const allow = { Version: '2012-10-17', Statement: { Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: '*' } };
  const Condition = { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': '${www.amazon.com:user_id}' } };
  const signedIn = { ...allow, Statement: { ...allow.Statement, Condition } };
  twin.setAccess({ accounts: { [ACCOUNT]: { users: { ann: { policies: [allow] } }, roles: { Web: { policies: [signedIn] } } } } });
  const ann = `arn:aws:iam::${ACCOUNT}:user/ann`;
  const federated = { federated: true, name: 'visitor' };
  await client(twin.asUser(ann, { ...federated, policies: [allow] })).send(get('a'));
  await assert.rejects(client(twin.asUser(ann, federated)).send(get('a')), /federated-user\/visitor .* because no session policy/);
  const web = client(twin.asRole(`arn:aws:iam::${ACCOUNT}:role/Web`, { keys: { 'www.amazon.com:user_id': 'u1' } }));
  await web.send(get('u1'));
  await assert.rejects(web.send(get('u2')), /because no identity-based policy/);
});

test('credentials expire on the clock of the twin, which may be far from the machine\'s', async () => {
  const twin = await start();
  const blue = client(twin.asRole(TENANT, { tags: { tenant: 'blue' }, duration: 900 }));
  twin.clock.advance(899);
  await blue.send(put('blue'));
  twin.clock.advance(1);
  await assert.rejects(blue.send(put('blue')), { name: 'ExpiredTokenException' });
});

test('a client that exists already is attached as a principal', async () => {
  const twin = await start();
  const existing = new DynamoDBClient({ region: 'eu-west-1', endpoint: 'http://localhost:1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
  const attachment = twin.attach(existing, twin.asRole(TENANT, { tags: { tenant: 'blue' } }));
  await existing.send(put('blue'));
  await assert.rejects(existing.send(put('red')), { name: 'AccessDeniedException' });
  attachment.detach();
});

test('decisions are explained, and a configuration is replaced, removed and restored', async () => {
  const twin = await start();
  const question = { principal: TENANT, session: { tags: { tenant: 'blue' } }, operation: 'GetItem', request: { TableName: 'Items', Key: { PK: { S: 'red' } } } };
  const explained = twin.explainAccess(question);
  assert.equal(explained.allowed, false);
  assert.deepEqual(explained.evaluations[0].keys['dynamodb:LeadingKeys'], ['red']);
  assert.throws(() => twin.setAccess('{"accounts": {"1": {}}}'), /12 digits/);
  const [warning] = twin.setAccess(JSON.stringify({ accounts: { [ACCOUNT]: { roles: { R: { policies: [{ Statement: { Effect: 'Allow', Action: 'dynamodb:GetItems', Resource: '*' } }] } } } } }));
  assert.equal(warning.code, 'UnknownAction');
  twin.removeAccess();
  await assert.rejects(new DynamoDBClient(twin.clientConfig()).send(get('a')), { name: 'ResourceNotFoundException' });
  twin.reset({ all: true });
  await createTable(twin);
  await assert.rejects(client(twin.asRole(TENANT)).send(get('a')), { name: 'AccessDeniedException' });
  const fork = twin.fork();
  await assert.rejects(client(fork.asRole(TENANT)).send(get('a')), { name: 'AccessDeniedException' });
});

test('the policy that a run needs is derived', async () => {
  const twin = await start({ watch: true });
  twin.forgetRequests();
  const root = client(twin.asRoot(ACCOUNT));
  await root.send(put('a'));
  await root.send(get('a'));
  const table = `arn:aws:dynamodb:us-east-1:${ACCOUNT}:table/Items`;
  const statement = { Effect: 'Allow', Action: ['dynamodb:GetItem', 'dynamodb:PutItem'], Resource: [table] };
  const principal = `arn:aws:iam::${ACCOUNT}:root`;
  assert.deepEqual(twin.accessReport(), [{ principal, policy: { Version: '2012-10-17', Statement: [statement] } }]);
  const [{ policy }] = twin.accessReport({ leadingKeys: true });
  assert.deepEqual(policy.Statement[0].Condition['ForAllValues:StringEquals'], { 'dynamodb:LeadingKeys': ['a'] });
  const [{ policy: { Statement } }] = twin.accessReport({ attributes: true });
  assert.deepEqual(Statement.map(({ Condition }) => Condition), [
    { 'ForAllValues:StringEquals': { 'dynamodb:Attributes': ['PK'] }, StringEquals: { 'dynamodb:Select': ['ALL_ATTRIBUTES'] } },
    { 'ForAllValues:StringEquals': { 'dynamodb:Attributes': ['PK'] }, StringEquals: { 'dynamodb:ReturnValues': ['NONE'] } },
  ]);
});
