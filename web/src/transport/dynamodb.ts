// API requests that the app itself sends, and their errors.
import { textOf, type Headers, type Transport } from './transport';

/** Whose tables: each access key and region has its own, unless all share theirs. */
export interface Account {
  accessKey: string;
  region: string;
}

export const DEFAULT_ACCOUNT: Account = { accessKey: 'playground', region: 'us-east-1' };
/** The access key of the app's own requests, which are left out of the log. */
export const APP_ACCOUNT: Account = { accessKey: 'dynatwin-ui', region: 'us-east-1' };

export class ServiceError extends Error {
  constructor(
    override readonly name: string,
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** The headers of a request whose signature is not verified. */
export function signedHeaders(account: Account, target?: string, date = '20260101T000000Z'): Headers {
  const scope = `${account.accessKey}/${date.slice(0, 8)}/${account.region}/dynamodb/aws4_request`;
  const headers: Headers = {
    'x-amz-date': date,
    authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}`,
  };
  if (target) {
    headers['x-amz-target'] = `DynamoDB_20120810.${target}`;
    headers['content-type'] = 'application/x-amz-json-1.0';
  }
  return headers;
}

/** Sends one request of the API; throws a [`ServiceError`] if it is refused. */
export async function call<T = Record<string, unknown>>(
  transport: Transport,
  account: Account,
  operation: string,
  body: unknown,
): Promise<T> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const reply = await transport.handle('POST', '/', signedHeaders(account, operation), text);
  const answer = parse(textOf(reply));
  if (reply.status !== 200) {
    const type = String(answer['__type'] ?? `HTTP ${reply.status}`);
    throw new ServiceError(type.split('#').pop() ?? type, String(answer['message'] ?? answer['Message'] ?? ''), reply.status);
  }
  return answer as T;
}

function parse(text: string): Record<string, unknown> {
  try {
    return text ? (JSON.parse(text) as Record<string, unknown>) : {};
  } catch {
    return { message: text };
  }
}

/** The account and region that a table belongs to. Where all callers share their tables, any will do. */
export const ownerOf = (table: { accessKey: string | undefined; region: string | undefined } | undefined): Account =>
  table?.accessKey && table.region ? { accessKey: table.accessKey, region: table.region } : DEFAULT_ACCOUNT;

/** An error in words. */
export function words(error: unknown): string {
  if (error instanceof ServiceError) return error.message ? `${error.name}: ${error.message}` : error.name;
  return error instanceof Error ? error.message : String(error);
}
