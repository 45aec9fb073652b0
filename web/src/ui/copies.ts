// The code in the editor, converted for use elsewhere.
import type { App } from '../app';

export type CopyAs = 'Node' | 'Vitest' | 'Python' | 'CLI';

interface Sent {
  operation: string;
  body: Record<string, unknown>;
}

/** The latest requests with their bodies, which are converted for Python and the CLI. */
const sent: { list: Sent[] } = { list: [] };

/** Reads the bodies of the latest requests, so that they can be copied at once. */
export async function rememberRequests(app: App): Promise<void> {
  const after = Math.max(0, (app.feed.requests.value.at(-1)?.number ?? 0) - 30);
  const requests = await app.control.requests({ after, bodies: true });
  sent.list = requests.flatMap(({ operation, request }) => {
    if (!request || request.truncated || operation.startsWith('Describe')) return [];
    try {
      return [{ operation, body: JSON.parse(request.body) as Record<string, unknown> }];
    } catch {
      return [];
    }
  }).slice(-10);
}

/** The name as the AWS CLI writes it: `SSESpecification` is `sse-specification`. */
const kebab = (name: string) => name.replace(/(.)([A-Z][a-z]+)/g, '$1-$2').replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
const snake = (name: string) => kebab(name).replaceAll('-', '_');
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function option([name, value]: [string, unknown]): string {
  if (value === true) return `--${kebab(name)}`;
  if (value === false) return `--no-${kebab(name)}`;
  return `--${kebab(name)} ${typeof value === 'string' ? quoted(value) : typeof value === 'number' ? value : quoted(JSON.stringify(value))}`;
}

function python(value: unknown, depth: number): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inside = '    '.repeat(depth + 1);
  const line = JSON.stringify(value).length < 70;
  const parts = Array.isArray(value) ? value.map((one) => python(one, depth + 1)) : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${python(one, depth + 1)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return line ? `${open}${parts.join(', ')}${close}` : `${open}\n${parts.map((part) => `${inside}${part},\n`).join('')}${'    '.repeat(depth)}${close}`;
}

/** The code with each client pointed at a server on this machine. */
const withEndpoint = (code: string) =>
  code.includes('endpoint')
    ? code
    : code.replace(/new DynamoDBClient\(\{\s*/g, (start) => `${start}endpoint: "http://localhost:8000", region: "us-east-1", credentials: { accessKeyId: "example", secretAccessKey: "example" }, `);

export const COPIES: Record<CopyAs, (app: App) => string> = {
  Node: (app) => `// npm install @aws-sdk/client-dynamodb @aws-sdk/lib-dynamodb\n// Against a Dynatwin server on this machine: dynatwin --port 8000\n${withEndpoint(app.code.value)}`,
  Vitest: (app) => {
    const { imports, rest } = split(app.code.value);
    const seed = app.seed.value;
    return `import { expect, test } from "vitest";
import { Dynatwin } from "dynatwin";
${imports}
test("it runs", async () => {
  const twin = new Dynatwin({ seed: ${seed}, clock: "settable" });
${rest.replace(/new DynamoDBClient\(\{/g, 'new DynamoDBClient({ ...twin.clientConfig(),').replace(/^(?=.)/gm, '  ')}
  expect(twin.tables()).not.toEqual([]);
});
`;
  },
  Python: () =>
    [
      'import boto3',
      '',
      'dynamodb = boto3.client("dynamodb", endpoint_url="http://localhost:8000", region_name="us-east-1",',
      '                        aws_access_key_id="example", aws_secret_access_key="example")',
      ...sent.list.map(({ operation, body }) => `dynamodb.${snake(operation)}(\n${Object.entries(body).map(([name, value]) => `    ${name}=${python(value, 1)},\n`).join('')})`),
      '',
    ].join('\n'),
  CLI: () => sent.list.map(({ operation, body }) => ['aws dynamodb ' + kebab(operation), '--endpoint-url http://localhost:8000', ...Object.entries(body).map(option)].join(' \\\n  ')).join('\n\n') + '\n',
};

// Imports are not allowed inside a test.
function split(code: string): { imports: string; rest: string } {
  const found: string[] = [];
  const rest = code.replace(/^import\s[\s\S]*?from\s+["'][^"']+["'];?[ \t]*\n/gm, (line) => (found.push(line), ''));
  return { imports: found.join(''), rest: rest.trim() };
}
