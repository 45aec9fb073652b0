// Attribute values: as texts, as plain JSON, and back.
import type { AttributeValue, Attributes } from './transport/control';

/** A key or value in few words: the text itself, a number's digits. */
export function brief(value: AttributeValue | undefined): string {
  if (!value) return '';
  const [type, inner] = Object.entries(value)[0] ?? ['', ''];
  switch (type) {
    case 'S':
    case 'N':
      return String(inner);
    case 'B':
      return `<${inner}>`;
    case 'BOOL':
      return String(inner);
    case 'NULL':
      return 'null';
    case 'SS':
    case 'NS':
    case 'BS':
      return `{${(inner as string[]).join(', ')}}`;
    default:
      return JSON.stringify(plain(value));
  }
}

/** A key as `PK / SK`. */
export const keyText = (key: Attributes | undefined): string => (key ? Object.values(key).map(brief).join(' / ') : '');

/** A value as plain JSON; sets and binary values keep their type, as `{"SS": [...]}`. */
export function plain(value: AttributeValue): unknown {
  const [type, inner] = Object.entries(value)[0] ?? ['', ''];
  switch (type) {
    case 'S':
    case 'BOOL':
      return inner;
    case 'N':
      return String(Number(inner)) === inner ? Number(inner) : value;
    case 'NULL':
      return null;
    case 'L':
      return (inner as AttributeValue[]).map(plain);
    case 'M':
      // A map that would be taken for another value keeps its type.
      return isLikeTyped(inner as Attributes) ? value : plainItem(inner as Attributes);
    default:
      return value;
  }
}

export const plainItem = (item: Attributes): Record<string, unknown> =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, plain(value)]));

/** The types whose values plain JSON writes as in DynamoDB JSON. */
const TYPED = new Set(['N', 'B', 'SS', 'NS', 'BS']);

/** Whether an object has one member, called as one of these types. */
const isLikeTyped = (object: object): boolean => Object.keys(object).length === 1 && TYPED.has(Object.keys(object)[0] ?? '');

/** Whether an object is a map in DynamoDB JSON whose only member is called as one of these types. */
function isTypedMap(object: object): boolean {
  const [[type, map] = ['', undefined], ...others] = Object.entries(object) as [string, unknown][];
  if (type !== 'M' || others.length > 0 || typeof map !== 'object' || map === null) return false;
  return isLikeTyped(map) && Object.values(map).every((inner) => typeof inner === 'object' && !Array.isArray(inner));
}

/** JSON, and the same JSON with each number as its digits: JavaScript rounds numbers. */
export interface Parsed<T = unknown> {
  value: T;
  digits: unknown;
}

const STRING_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g;

export function parsed<T>(text: string): Parsed<T> {
  const value = JSON.parse(text) as T;
  const digits = JSON.parse(text.replace(STRING_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`))) as unknown;
  return { value, digits };
}

/** Plain JSON as an attribute value. `digits` is the same JSON with each number as its digits. */
export function typed(value: unknown, digits = value): AttributeValue {
  if (value === null) return { NULL: true };
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number') return { N: String(digits) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (Array.isArray(value)) return { L: value.map((element, at) => typed(element, (digits as unknown[])[at])) };
  // A set, a binary value, a number that JavaScript would round, or a map that looks like one of these.
  if (isLikeTyped(value as object) || isTypedMap(value as object)) return value as AttributeValue;
  return { M: typedItem(value as Record<string, unknown>, digits as Record<string, unknown>) };
}

export const typedItem = (item: Record<string, unknown>, digits = item): Attributes =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, typed(value, digits[name])]));

/** The item of a text in plain JSON. */
export function itemOf(text: string): Attributes {
  const { value, digits } = parsed<Record<string, unknown>>(text);
  return typedItem(value, digits as Record<string, unknown>);
}
