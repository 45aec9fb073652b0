// What to change in a refused request, and the corrected request.
import type { KeyPart, TableView } from './tables';

type Json = Record<string, unknown>;

export interface Hint {
  text: string;
  /** The body of a request that is accepted. */
  body?: Json;
}

interface Refusal {
  operation: string;
  body: Json;
  /** The table that the request names. */
  table: TableView | undefined;
  tables: TableView[];
}

const EXPRESSIONS = ['KeyConditionExpression', 'FilterExpression', 'ConditionExpression', 'UpdateExpression', 'ProjectionExpression'];

/** The messages of the service that have a remedy, each with the groups of its pattern. */
const REMEDIES: [pattern: RegExp, remedy: (found: string[], refusal: Refusal) => Hint | undefined][] = [
  [/reserved keyword: (\w+)/i, ([word = ''], { body }) => ({ text: `${word} is a word of the expression language. Write a placeholder in its place, and what it stands for into ExpressionAttributeNames.`, body: withPlaceholder(body, word) })],
  [/Filter Expression can only contain non-primary key attributes: Primary key attribute: (\S+)/, ([key = '']) => ({ text: `${key} is a key, so its condition belongs into KeyConditionExpression. There it decides which items are read; a filter only drops them afterwards.` })],
  [/Query condition missed key schema element: (\S+)/, ([key = ''], refusal) => missedKey(key, refusal)],
  [/Query key condition not supported|KeyConditionExpressions must only contain|Invalid operator used in KeyConditionExpression/i, (_, { body, table }) => {
    const [partition, sort] = keysOf(body, table);
    const ofSort = sort ? `, and ${sort.name} once by =, <, <=, >, >=, BETWEEN or begins_with` : '';
    return { text: `A key condition compares ${partition?.name ?? 'the partition key'} by = with one value${ofSort}, connected by AND. Everything else is a filter, and is applied after the read.` };
  }],
  [/unused in expressions: keys: \{([^}]*)\}/, ([names = ''], { body }) => ({ text: `Nothing uses ${names}. The service refuses placeholders that no expression uses: remove them, or look for a typing error in the expression.`, body: without(body, names.split(/,\s*/)) })],
  [/attribute value used in expression is not defined; attribute value: (:\w+)/, ([name = '']) => ({ text: `Add ${name} to ExpressionAttributeValues, with its type in the low-level API: {"${name}": {"S": "…"}}.` })],
  [/attribute name used in the document path is not defined; attribute name: (#\w+)/, ([name = '']) => ({ text: `Add ${name} to ExpressionAttributeNames: {"${name}": "…"}.` })],
  [/Condition parameter type does not match schema type/, (_, { body, table }) => ({ text: `A value in the key condition has another type than its key: ${typed(keysOf(body, table))}. A number is {"N": "1"}, a string is {"S": "1"}.` })],
  [/The provided key element does not match the schema|The number of conditions on the keys is invalid/, (_, { table }) => ({ text: `A key consists of exactly ${table ? typed(table.keys) : 'the key attributes of the table'}. To read by a part of it, or by another attribute, use Query.` })],
  [/Type mismatch for key (\S+) expected: (\w+) actual: (\w+)/, ([key = '', wanted = '', got = '']) => ({ text: `${key} is of type ${wanted} in the key schema, and the item has ${got}.${got === 'M' ? ' A map here is usually an item in DynamoDB JSON that the document client has converted once more: give it plain values.' : ''}` })],
  [/Consistent reads are not supported on global secondary indexes/, (_, { body }) => ({ text: 'A global index follows its table with a lag, so there is no current state to read. Read the table with ConsistentRead, or accept that the index may lag.', body: without(body, ['ConsistentRead']) })],
  [/does not project/, (_, { body }) => ({ text: `Index ${String(body['IndexName'])} has only the attributes that it projects. Read the other attributes from the table, with BatchGetItem, or create an index that projects them.` })],
  [/operator or function: (begins_with|contains|size|attribute_type), (?:operand type|typeSet): (\w+)/, ([name = '', type = '']) => ({ text: remedyOfFunction(name, type) })],
  [/Syntax error; token/, (_, { body }) => ({ text: EXPRESSIONS.some((kind) => /["']/.test(String(body[kind] ?? ''))) ? 'An expression has no literals: put the value into ExpressionAttributeValues, and a placeholder such as :value into the expression.' : 'The marked place is where the service stops understanding the expression. Names with a dot, a dash or a space need a placeholder such as #name.' })],
  [/Cannot update attribute (\S+)\. This attribute is part of the key/, ([key = '']) => ({ text: `The key of an item cannot change: put a new item with the new ${key}, and delete the old one, in one TransactWriteItems.` })],
  [/Two document paths overlap/, () => ({ text: 'An update may name an attribute once, and not together with a part of it. Set the whole attribute, or only its parts.' })],
  [/Requested resource not found|non-existent table|Cannot do operations on a non-existent/, (_, refusal) => missingTable(refusal)],
  [/cannot contain an empty string value\. Key: (\S+)/, ([key = '']) => ({ text: `${key} is a key, and keys cannot be empty. Other attributes can.` })],
  [/did not contain IndexName|does not have the specified index/, (_, { body, table }) => table && { text: `${table.name} has ${table.indexes.length ? `the indexes ${table.indexes.map(({ name }) => name).join(', ')}` : 'no index'}, and not ${String(body['IndexName'])}.` }],
];

/** What helps against the service's refusal of a request, if that is known. */
export function hint(message: string, refusal: Refusal): Hint | undefined {
  for (const [pattern, remedy] of REMEDIES) {
    const found = pattern.exec(message);
    if (found) return remedy(found.slice(1), refusal);
  }
  return undefined;
}

const typed = (keys: KeyPart[]) => keys.map(({ name, type }) => `${name} (${type})`).join(' and ');

function keysOf(body: Json, table: TableView | undefined): KeyPart[] {
  return table?.indexes.find(({ name }) => name === body['IndexName'])?.keys ?? table?.keys ?? [];
}

function withPlaceholder(body: Json, word: string): Json {
  const exact = EXPRESSIONS.map((kind) => new RegExp(`(?<![#:\\w])${word}(?!\\w)`, 'i').exec(String(body[kind] ?? ''))?.[0]).find((name) => name !== undefined) ?? word;
  const replaced = Object.fromEntries(EXPRESSIONS.flatMap((kind) => (typeof body[kind] === 'string' ? [[kind, body[kind].replace(new RegExp(`(?<![#:\\w])${exact}(?!\\w)`, 'g'), `#${exact}`)]] : [])));
  return { ...body, ...replaced, ExpressionAttributeNames: { ...(body['ExpressionAttributeNames'] as Json | undefined), [`#${exact}`]: exact } };
}

function without(body: Json, names: string[]): Json {
  const { ...rest } = body;
  for (const name of names) delete rest[name];
  for (const member of ['ExpressionAttributeNames', 'ExpressionAttributeValues']) {
    const kept = Object.entries((body[member] as Json | undefined) ?? {}).filter(([name]) => !names.includes(name));
    if (kept.length > 0) rest[member] = Object.fromEntries(kept);
    else delete rest[member];
  }
  return rest;
}

/** A Query without its partition key: an index may have the attribute that is compared. */
function missedKey(key: string, { body, table }: Refusal): Hint {
  const condition = String(body['KeyConditionExpression'] ?? '');
  const names = (body['ExpressionAttributeNames'] ?? {}) as Record<string, string>;
  const compared = [...condition.matchAll(/([#\w]+)\s*=\s*:/g)].map(([, name = '']) => names[name] ?? name);
  const index = table?.indexes.find(({ name, keys: [partition] }) => name !== body['IndexName'] && partition && compared.includes(partition.name));
  if (index) return { text: `The key condition is on ${index.keys[0]?.name}, the partition key of index ${index.name}: name it in IndexName.`, body: { TableName: body['TableName'], IndexName: index.name, ...body } };
  return { text: `A Query reads the items of one partition key: its condition needs ${key} = a value. To find items by ${compared.join(' and ') || 'another attribute'} alone, create a global index with it as the partition key.` };
}

function remedyOfFunction(name: string, type: string): string {
  if (name === 'begins_with') return `begins_with compares the beginning of strings and binary values, and not of ${type}. Compare numbers by BETWEEN, < or >=.`;
  if (name === 'size') return `size is the length of a string, a binary value, a set, a list or a map, and not of ${type}.`;
  return `${name} does not take a value of type ${type}.`;
}

function missingTable({ body, tables }: Refusal): Hint {
  const wanted = String(body['TableName'] ?? '');
  const close = tables.map(({ name }) => name).filter((name) => name.toLowerCase().includes(wanted.toLowerCase()) || wanted.toLowerCase().includes(name.toLowerCase()));
  const others = close.length > 0 ? close : tables.map(({ name }) => name);
  const text = `There is no table ${wanted} in the region and account of the request. ${others.length > 0 ? `There is ${others.slice(0, 5).join(', ')}.` : 'There are no tables.'}`;
  return close.length === 1 && close[0] !== wanted ? { text, body: { ...body, TableName: close[0] } } : { text };
}
