// Values as Node prints them.

const WIDTH = 72;

/** A value as text, as `console.log` shows it. */
export function inspect(value: unknown, depth = 3): string {
  return show(value, depth, new Set());
}

/** The arguments of one `console.log`. */
export function format(parts: unknown[]): string {
  const [first, ...rest] = parts;
  if (typeof first !== 'string') return parts.map((part) => (typeof part === 'string' ? part : inspect(part))).join(' ');
  const left = [...rest];
  const text = first.replace(/%[sdifjoOc%]/g, (mark) => {
    if (mark === '%%') return '%';
    if (left.length === 0) return mark;
    const part = left.shift();
    if (mark === '%s') return typeof part === 'string' ? part : inspect(part, 0);
    if (mark === '%d' || mark === '%i' || mark === '%f') return String(mark === '%i' ? Math.trunc(Number(part)) : Number(part));
    if (mark === '%c') return '';
    return mark === '%j' ? (JSON.stringify(part) ?? 'undefined') : inspect(part);
  });
  return [text, ...left.map((part) => (typeof part === 'string' ? part : inspect(part)))].join(' ');
}

function show(value: unknown, depth: number, above: Set<object>): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'symbol') return value.toString();
  if (typeof value === 'function') return `[${/^class\b/.test(String(value)) ? 'class' : 'Function'}${value.name ? `: ${value.name}` : ' (anonymous)'}]`;
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : String(value);
  if (above.has(value)) return '[Circular]';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Error) return showError(value, depth, above);
  if (value instanceof Promise) return 'Promise { <pending> }';
  const within = new Set(above).add(value);
  const inner = (one: unknown) => show(one, depth - 1, within);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const list = Array.from(value as Uint8Array);
    return group(`${value.constructor.name}(${list.length}) [`, few(list.map(String)), ']');
  }
  if (Array.isArray(value)) {
    if (depth < 0) return '[Array]';
    return group('[', few(value.map(inner)), ']');
  }
  if (value instanceof Map) return group(`Map(${value.size}) {`, few(Array.from(value, ([key, one]) => `${inner(key)} => ${inner(one)}`)), '}');
  if (value instanceof Set) return group(`Set(${value.size}) {`, few(Array.from(value, inner)), '}');
  const name = Object.getPrototypeOf(value)?.constructor?.name as string | undefined;
  const label = name && name !== 'Object' ? `${name} ` : '';
  if (depth < 0) return `[${name ?? 'Object'}]`;
  const members = Object.keys(value).map((key) => `${member(key)}: ${inner((value as Record<string, unknown>)[key])}`);
  return group(`${label}{`, few(members), '}');
}

function showError(error: Error, depth: number, above: Set<object>): string {
  const head = `${error.name}: ${error.message}`;
  const own = Object.keys(error).filter((key) => !['name', 'message', 'stack', '$fault', '$service', '$response', '$retryable'].includes(key));
  if (own.length === 0 || depth < 0) return head;
  const within = new Set(above).add(error);
  const members = own.map((key) => `${member(key)}: ${show((error as unknown as Record<string, unknown>)[key], depth - 1, within)}`);
  return group(`${head} {`, members, '}');
}

const member = (key: string) => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key));

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll(mark, `\\${mark}`);
  return mark + escaped + mark;
}

function few(parts: string[], most = 100): string[] {
  return parts.length <= most ? parts : [...parts.slice(0, most), `… ${parts.length - most} more`];
}

function group(open: string, parts: string[], close: string): string {
  if (parts.length === 0) return open + close;
  const line = `${open} ${parts.join(', ')} ${close}`;
  if (line.length <= WIDTH && !line.includes('\n')) return line;
  return `${open}\n${parts.map((part) => `  ${part.replaceAll('\n', '\n  ')}`).join(',\n')}\n${close}`;
}
