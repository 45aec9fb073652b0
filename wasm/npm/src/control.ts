// Calls of controls, as over HTTP.
import type * as controls from './controls.js';
import type { Answer, AttributeValue } from './types.js';

/** What answers requests: the engine's lowest entry point. */
export type Handle = (method: string, path: string, headers: string[], body: Uint8Array) => Answer;

/** The error of a control that refuses its input, or names something that does not exist. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Returns the answer to a call in the name of an access key and region. */
export function answerTo<T>(handle: Handle, { method, path, body }: controls.Call<T>, accessKey: string, region: string): T {
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKey}/20260101/${region}/dynamodb/aws4_request`;
  const isBytes = body instanceof Uint8Array;
  const type = isBytes ? 'application/octet-stream' : 'application/json';
  const sent = isBytes ? body : encoder.encode(body === undefined ? '' : json(body));
  const answer = handle(method, `/_dynatwin${path}`, ['host', 'localhost', 'content-type', type, 'authorization', authorization], sent);
  if (answer.headers['content-type'] === 'application/octet-stream') return answer.body as T;
  const read = JSON.parse(decoder.decode(answer.body));
  if (answer.status !== 200) throw new Refusal(read.error ?? read.message ?? `${method} ${path}: ${answer.status}`, answer.status);
  return read;
}

/** Returns what `block` returns, or `undefined` if it names something that does not exist. */
export function unlessAbsent<T>(block: () => T): T | undefined {
  try {
    return block();
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return undefined;
    throw error;
  }
}

/** Converts a value to JSON. A value that JSON has no form for becomes a text, so that it is refused. */
export const json = (value: unknown): string => JSON.stringify(value ?? null, strictly);

function strictly(_: string, value: unknown): unknown {
  const isLost = typeof value === 'number' ? !Number.isFinite(value) : ['bigint', 'function', 'symbol'].includes(typeof value);
  return isLost ? String(value) : value;
}

/** Converts a key attribute from DynamoDB JSON, where binary is base64. */
export function keyValue(value: controls.AttributeValue): AttributeValue {
  if (typeof value.B !== 'string') return value as AttributeValue;
  return { B: Uint8Array.from(atob(value.B), (byte) => byte.charCodeAt(0)) };
}

/** Converts the attributes of a key. */
export function keyOf(key: controls.Attributes): Record<string, AttributeValue> {
  return Object.fromEntries(Object.entries(key).map(([name, value]) => [name, keyValue(value)]));
}
