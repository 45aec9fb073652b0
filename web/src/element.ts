// Making elements without a framework.

type Child = Node | string | false | null | undefined;
type Properties = Record<string, unknown>;

/** An element with properties, `on…` listeners, `aria-…` and `data-…` attributes, and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value as EventListener);
    else if (key in made) Object.assign(made, { [key]: value });
    else made.setAttribute(key, String(value));
  }
  made.append(...children.filter((child): child is Node | string => Boolean(child) || child === ''));
  return made;
}

/** The element of this id, which index.html has. */
export function place(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}

/** `1 item`, `2 items`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A length of time in its one or two largest units. */
export function length(seconds: number): string {
  const words: string[] = [];
  let left = Math.floor(Math.abs(seconds));
  for (const [unit, size] of UNITS) {
    const whole = Math.floor(left / size);
    left -= whole * size;
    if (whole > 0) words.push(count(whole, unit));
    else if (words.length > 0) break;
    if (words.length === 2) break;
  }
  return words.join(' ') || '0 seconds';
}
