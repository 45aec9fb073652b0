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
      return plainMap(inner as Attributes) ?? value;
    default:
      return value;
  }
}

export const plainItem = (item: Attributes): Record<string, unknown> =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, plain(value)]));

const isText = (value: unknown): boolean => typeof value === 'string';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The types of values that plain JSON cannot write, and the form of these values in DynamoDB JSON. */
const TYPED: Record<string, (inner: unknown) => boolean> = { N: isText, B: isText, SS: isTexts, NS: isTexts, BS: isTexts };

const SHAPES: Record<string, (inner: unknown) => boolean> = {
  ...TYPED,
  S: isText,
  BOOL: (inner) => typeof inner === 'boolean',
  NULL: (inner) => inner === true,
  L: (inner) => Array.isArray(inner) && inner.every(isAttributeValue),
  M: isTypedItem,
};

/** The only member of an object. */
function only(value: unknown): [name: string, inner: unknown] | undefined {
  const [member, ...others] = isObject(value) ? Object.entries(value) : [];
  return others.length === 0 ? member : undefined;
}

const fits = (value: unknown, shapes: typeof SHAPES): boolean => {
  const [type = '', inner] = only(value) ?? [];
  return Object.hasOwn(shapes, type) && shapes[type]?.(inner) === true;
};

/** Whether a value has the form of DynamoDB JSON. */
const isAttributeValue = (value: unknown): boolean => fits(value, SHAPES);

/** Whether all attributes have the form of DynamoDB JSON. */
export function isTypedItem(item: unknown): item is Attributes {
  return isObject(item) && Object.values(item).every(isAttributeValue);
}

/** The name of the only member of an object, if it is one of the types that plain JSON cannot write. */
const typeName = (value: unknown): string | undefined => {
  const [name = ''] = only(value) ?? [];
  return Object.hasOwn(TYPED, name) ? name : undefined;
};

/** Whether an object is a map in DynamoDB JSON whose only member is called as a type: so plain JSON writes maps that it could not tell from another value. */
const isTypedMap = (value: unknown): boolean => {
  const [type, map] = only(value) ?? [];
  return type === 'M' && typeName(map) !== undefined && isTypedItem(map);
};

/** A map as plain JSON; `undefined` if that would be another value. */
function plainMap(map: Attributes): Record<string, unknown> | undefined {
  const json = plainItem(map);
  const name = typeName(json);
  return name !== undefined && (isObject(json[name]) || fits(json, TYPED)) ? undefined : json;
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
  if (fits(value, TYPED) || isTypedMap(value)) return value as AttributeValue;
  return { M: typedItem(value as Record<string, unknown>, digits as Record<string, unknown>) };
}

export const typedItem = (item: Record<string, unknown>, digits = item): Attributes =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, typed(value, digits[name])]));

/** The item of a text in plain JSON. */
export function itemOf(text: string): Attributes {
  const { value, digits } = parsed<Record<string, unknown>>(text);
  if (!isObject(value)) throw new SyntaxError('An item is an object of attributes.');
  return typedItem(value, digits as Record<string, unknown>);
}
