// The tables as they are now: looked at directly, without a request.

import type { AttributeValue } from 'dynatwin';
import { count, element, length } from './element';
import type { World } from './twin';

type Row = Record<string, AttributeValue>;
const KEYS = ['PK', 'SK'];

export interface Tables {
  refresh(): void;
}

export function showTables(panel: HTMLElement, { twin }: World): Tables {
  const body = element('div', {});
  /** The rows last shown, as text: what is new among them is marked for a moment. */
  let shown = new Map<string, Set<string>>();
  panel.append(element('div', { className: 'panel-head' }, element('h2', { id: 'tables-title' }, 'Tables')), body);

  return {
    refresh() {
      const now = twin.clock.now().getTime() / 1000;
      const next = new Map<string, Set<string>>();
      const tables = twin.tables().map((name) => {
        const rows = twin.items(name) ?? [];
        next.set(name, new Set(rows.map((row) => JSON.stringify(row))));
        return table(name, rows, now, shown.get(name) ?? new Set());
      });
      shown = next;
      body.replaceChildren(...(tables.length > 0 ? tables : [element('p', { className: 'empty' }, 'No tables yet.')]));
    },
  };
}

function table(name: string, rows: Row[], now: number, before: Set<string>): HTMLElement {
  const heading = element('h3', {}, name, element('span', { className: 'badge' }, count(rows.length, 'item')));
  if (rows.length === 0) return element('div', {}, heading, element('p', { className: 'empty' }, 'The table is empty.'));
  const head = [...KEYS, 'Attributes'].map((title) => element('th', { scope: 'col' }, title));
  const lines = rows.map((row) => {
    const cells = KEYS.map((key) => element('td', { className: 'key' }, text(row[key])));
    const others = Object.entries(row).filter(([key]) => !KEYS.includes(key));
    const attributes = element('td', {}, ...others.map(([key, value]) => attribute(key, value, now)));
    return element('tr', { className: before.has(JSON.stringify(row)) ? '' : 'fresh' }, ...cells, attributes);
  });
  return element(
    'div',
    {},
    heading,
    element(
      'div',
      { className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': `Items of ${name}` },
      element('table', { id: `items-${name}` }, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...lines)),
    ),
  );
}

function attribute(name: string, value: AttributeValue, now: number): HTMLElement {
  const chip = element('span', { className: 'chip' }, element('b', {}, name), ` ${text(value)}`);
  if (name === 'expiresAt' && 'N' in value) {
    const left = Number(value.N) - now;
    chip.append(element('i', {}, left > 0 ? ` in ${length(left)}` : ` expired ${length(left)} ago`));
    chip.classList.add(left > 0 ? 'soon' : 'over');
  }
  return chip;
}

function text(value: AttributeValue | undefined): string {
  if (value === undefined) return '';
  const [inside] = Object.values(value) as unknown[];
  return typeof inside === 'string' ? inside : JSON.stringify(inside);
}
