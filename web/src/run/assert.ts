// The part of `node:assert` that examples use.
import { inspect } from './inspect';

export class AssertionError extends Error {
  override readonly name = 'AssertionError';
  readonly code = 'ERR_ASSERTION';

  constructor(
    message: string,
    readonly actual?: unknown,
    readonly expected?: unknown,
  ) {
    super(message);
  }
}

type Message = string | Error | undefined;

function raise(message: Message, otherwise: string, actual?: unknown, expected?: unknown): never {
  if (message instanceof Error) throw message;
  throw new AssertionError(message ?? otherwise, actual, expected);
}

export function ok(value: unknown, message?: Message): void {
  if (!value) raise(message, `Expected a truthy value, and it is ${inspect(value)}`, value, true);
}

export function equal(actual: unknown, expected: unknown, message?: Message): void {
  if (!Object.is(actual, expected)) raise(message, `Expected ${inspect(expected)}, and it is ${inspect(actual)}`, actual, expected);
}

export const strictEqual = equal;

export function notEqual(actual: unknown, expected: unknown, message?: Message): void {
  if (Object.is(actual, expected)) raise(message, `Expected anything but ${inspect(expected)}`, actual, expected);
}

export const notStrictEqual = notEqual;

export function deepEqual(actual: unknown, expected: unknown, message?: Message): void {
  if (!isDeepEqual(actual, expected)) raise(message, `Expected ${inspect(expected)}, and it is ${inspect(actual)}`, actual, expected);
}

export const deepStrictEqual = deepEqual;

export function match(text: string, pattern: RegExp, message?: Message): void {
  if (!pattern.test(text)) raise(message, `Expected a match of ${pattern}, and it is ${inspect(text)}`, text, pattern);
}

export function fail(message?: Message): never {
  raise(message, 'Failed');
}

export async function rejects(work: Promise<unknown> | (() => Promise<unknown>), expected?: unknown, message?: Message): Promise<void> {
  try {
    await (typeof work === 'function' ? work() : work);
  } catch (error) {
    return meets(error, expected, message);
  }
  raise(message, 'Expected a rejection, and there was none');
}

export async function doesNotReject(work: Promise<unknown> | (() => Promise<unknown>)): Promise<void> {
  await (typeof work === 'function' ? work() : work);
}

export function throws(work: () => unknown, expected?: unknown, message?: Message): void {
  try {
    work();
  } catch (error) {
    return meets(error, expected, message);
  }
  raise(message, 'Expected an exception, and there was none');
}

function meets(error: unknown, expected: unknown, message: Message): void {
  if (expected === undefined || typeof expected === 'string') return;
  if (expected instanceof RegExp) return ok(expected.test(String(error)), message);
  if (typeof expected === 'function') {
    if (expected.prototype !== undefined && error instanceof (expected as unknown as new () => object)) return;
    return ok((expected as (error: unknown) => unknown)(error) === true, message);
  }
  for (const [name, value] of Object.entries(expected as object)) {
    const found = (error as Record<string, unknown>)[name];
    if (value instanceof RegExp ? !value.test(String(found)) : !isDeepEqual(found, value)) {
      raise(message, `Expected ${name} to be ${inspect(value)}, and it is ${inspect(found)}`, found, value);
    }
  }
}

export function isDeepEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  if (one instanceof Date) return one.getTime() === (other as Date).getTime();
  if (one instanceof Set || one instanceof Map) {
    return one.size === (other as Set<unknown>).size && isDeepEqual([...one], [...(other as Set<unknown>)]);
  }
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && isDeepEqual((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name]));
}
