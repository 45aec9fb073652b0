// The modules that code in the playground can import: the AWS SDK as published, and small parts of Node.
import { init, parse } from 'es-module-lexer/js';
import type { Connection } from './handler';
import { inspect } from './inspect';
import * as assert from './assert';

type Namespace = Record<string, unknown>;

/** The modules by name; each is loaded when code imports it. */
const SDK: Record<string, () => Promise<Namespace>> = {
  '@aws-sdk/client-dynamodb': () => import('@aws-sdk/client-dynamodb'),
  '@aws-sdk/lib-dynamodb': () => import('@aws-sdk/lib-dynamodb'),
  '@aws-sdk/util-dynamodb': () => import('@aws-sdk/util-dynamodb'),
};

/** Loads the SDK before code imports it. */
export function preload(): void {
  for (const load of Object.values(SDK)) void load();
}

function importsOf(code: string): ReturnType<typeof parse>[0] {
  try {
    return parse(code)[0];
  } catch {
    return [];
  }
}

type Constructor = new (config?: Record<string, unknown>) => object;

export class Modules {
  #urls = new Map<string, Promise<string>>();

  constructor(
    readonly connection: Connection,
    readonly env: Record<string, string | undefined>,
    readonly process: Namespace,
  ) {}

  /** The code with each import replaced by the address of its module. Code with a syntax error is left to the browser, which names it. */
  async link(code: string): Promise<string> {
    await init();
    const imports = importsOf(code);
    let linked = '';
    let from = 0;
    for (const { type, specifier, start, end } of imports) {
      if (type === 'import-meta') continue;
      if (specifier === undefined) throw new Error('Only imports of a name in quotes can be loaded here.');
      const url = await this.#url(specifier);
      const quoted = /["'`]/.test(code[start] ?? '');
      linked += code.slice(from, start) + (quoted ? JSON.stringify(url) : url);
      from = end;
    }
    return linked + code.slice(from);
  }

  #url(name: string): Promise<string> {
    let url = this.#urls.get(name);
    if (!url) {
      url = this.#load(name).then(address);
      this.#urls.set(name, url);
    }
    return url;
  }

  async #load(name: string): Promise<Namespace> {
    const sdk = SDK[name];
    if (sdk) {
      const namespace = { ...(await sdk()) };
      for (const client of ['DynamoDBClient', 'DynamoDB']) {
        const original = namespace[client] as Constructor | undefined;
        if (original) namespace[client] = this.#connected(client, original);
      }
      return namespace;
    }
    const built = this.#node(name.replace(/^node:/, ''));
    if (built) return built;
    const known = [...Object.keys(SDK), 'node:assert', 'node:crypto', 'node:timers/promises', 'node:util', 'node:process'];
    throw new Error(`The playground has no module "${name}". It has ${known.join(', ')}.`);
  }

  /** A client class whose requests go to the emulator, with the region and credentials of the environment. */
  #connected(name: string, original: Constructor): Constructor {
    const { connection, env } = this;
    const connected = class extends original {
      constructor(config: Record<string, unknown> = {}) {
        const handler = config['requestHandler'] as { requestTimeout?: number; handle?: unknown } | undefined;
        super({
          region: env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'],
          credentials: { accessKeyId: env['AWS_ACCESS_KEY_ID'], secretAccessKey: env['AWS_SECRET_ACCESS_KEY'] },
          ...config,
          requestHandler: handler?.handle ? handler : connection.handler(handler),
        });
      }
    };
    Object.defineProperty(connected, 'name', { value: name });
    return connected;
  }

  #node(name: string): Namespace | undefined {
    const { clock } = this.connection;
    switch (name) {
      case 'assert':
      case 'assert/strict':
        return { ...assert, default: Object.assign(assert.ok.bind(undefined), assert, { strict: assert }) };
      case 'process':
        return { ...this.process, default: this.process };
      case 'crypto': {
        const { randomUUID, getRandomValues } = crypto;
        const module = { randomUUID, getRandomValues, webcrypto: crypto };
        return { ...module, default: module };
      }
      case 'timers/promises': {
        const sleep = (delay = 1, value?: unknown) => clock.sleep(delay).then(() => value);
        const module = { setTimeout: sleep, setImmediate: (value?: unknown) => sleep(0, value), scheduler: { wait: sleep } };
        return { ...module, default: module };
      }
      case 'util': {
        const module = { inspect, isDeepStrictEqual: assert.isDeepEqual };
        return { ...module, default: module };
      }
      default:
        return undefined;
    }
  }
}

// A module whose exports are the members of a namespace. Code in a Worker has no import map, so imports are URLs.
const shared: Namespace[] = [];

function address(namespace: Namespace): string {
  (globalThis as unknown as Namespace)['__dynatwinModules'] = shared;
  const at = shared.push(namespace) - 1;
  const names = Object.keys(namespace).filter((name) => name !== 'default' && /^[A-Za-z_$][\w$]*$/.test(name));
  const lines = [`const m = globalThis.__dynatwinModules[${at}];`, ...names.map((name) => `const $${name} = m[${JSON.stringify(name)}];`)];
  lines.push(`export { ${names.map((name) => `$${name} as ${name}`).join(', ')} };`, 'export default m.default ?? m;');
  return URL.createObjectURL(new Blob([lines.join('\n')], { type: 'text/javascript' }));
}
