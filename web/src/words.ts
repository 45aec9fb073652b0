// Formats numbers and durations as words.

const UNITS: [string, number][] = [['d', 86_400_000], ['h', 3_600_000], ['min', 60_000], ['s', 1_000]];

/** A length of time with its two largest units: `2 d 3 h`, `450 ms`. */
export function length(milliseconds: number): string {
  const whole = Math.round(Math.abs(milliseconds));
  if (whole < 1_000) return `${whole} ms`;
  const first = UNITS.findIndex(([, size]) => whole >= size);
  const [name, size] = UNITS[first] ?? ['s', 1_000];
  if (name === 's') return `${Math.round(whole / 100) / 10} s`;
  const [smaller, part] = UNITS[first + 1] ?? ['s', 1_000];
  const rest = Math.floor((whole % size) / part);
  return rest > 0 ? `${Math.floor(whole / size)} ${name} ${rest} ${smaller}` : `${Math.floor(whole / size)} ${name}`;
}

/** A length in seconds, from the control API. */
export const seconds = (value: number): string => length(value * 1000);

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  if (count < 1024 ** 2) return `${trim(count / 1024)} KB`;
  return count < 1024 ** 3 ? `${trim(count / 1024 ** 2)} MB` : `${trim(count / 1024 ** 3)} GB`;
}

const trim = (value: number) => value.toFixed(value < 10 ? 1 : 0).replace(/\.0$/, '');

export const count = (number: number, one: string, many = `${one}s`): string => `${number.toLocaleString('en')} ${number === 1 ? one : many}`;

export const units = (value: number): string => (Number.isInteger(value) ? value.toLocaleString('en') : value.toFixed(1));

/** A moment as `2026-01-01 00:00:00`, in UTC. */
export const moment = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ');

/** The time of day with thousandths. */
export const timeOfDay = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(11, 23);

/** The price of on-demand requests in us-east-1, in US dollars per million units. */
export const PRICE = { read: 0.125, write: 0.625 };

export function dollars(amount: number): string {
  if (amount === 0) return '$0';
  if (amount >= 0.01) return `$${amount.toFixed(2)}`;
  const superscript = (digits: string) => digits.replace(/\d/g, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]!);
  return `$${amount.toPrecision(2).replace(/e-(\d+)/, (_, digits: string) => `·10⁻${superscript(digits)}`)}`;
}
