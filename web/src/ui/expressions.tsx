// Expressions: how a text is parsed and bound, where it is invalid, and the value of each part for an item.
import { batch, signal, useSignal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { App } from '../app';
import type { Sent } from '../explain';
import { indexOf, type TableView } from '../tables';
import { EXPRESSION_KINDS, type Attributes, type ExplainedExpression, type Expression, type ExpressionItem, type ExpressionKind } from '../transport/control';
import { ownerOf, words, type Account } from '../transport/dynamodb';
import { keyText } from '../value';
import { Fault, Tree } from './expression-tree';
import { TableChoice } from './table-choice';

const kind = signal<ExpressionKind>('FilterExpression');
const text = signal('');
const names = signal('');
const values = signal('');
const index = signal('');

const json = (value: object | undefined) => (value && Object.keys(value).length > 0 ? JSON.stringify(value) : '');

/** Puts an expression of a request into the explorer. */
export function showExpression(app: App, { expression, table, index: of }: Sent, account: Account): void {
  batch(() => {
    app.tables.select(table, account);
    kind.value = expression.kind;
    text.value = expression.text;
    names.value = json(expression.names);
    values.value = json(expression.values);
    index.value = of;
  });
}

export function ExpressionsPanel({ app }: { app: App }) {
  const table = app.tables.current.value;
  const [shown, setShown] = useState<{ text: string; explained: ExplainedExpression }>();
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const trouble = useSignal('');
  const chosen = useSignal(0);
  const latest = useRef(table);
  latest.current = table;
  const version = app.tables.version.value;
  if (text.value === '' && table) text.value = `attribute_exists(${table.keys[0]?.name ?? 'PK'})`;

  useEffect(() => {
    if (!table || soon.current !== undefined) return;
    soon.current = setTimeout(() => {
      soon.current = undefined;
      if (latest.current) void explain(latest.current);
    }, 120);
  }, [table?.id, version, kind.value, text.value, names.value, values.value, index.value]);
  useEffect(() => () => clearTimeout(soon.current), []);

  const explain = async (of: TableView) => {
    try {
      const entered = read();
      const explained = await app.control.of(ownerOf(of)).explainExpression(entered, of.name, indexOf(of, index.value)?.name ?? '');
      setShown({ text: entered.text, explained });
      trouble.value = '';
    } catch (error) {
      trouble.value = error instanceof SyntaxError ? `Names and values are JSON: ${error.message}` : words(error);
    }
  };

  if (!table) return <p class="quiet empty">No tables yet.</p>;
  const { explained, text: of = '' } = shown ?? {};
  const item = explained?.items[chosen.value];
  return (
    <div class="explorer">
      <div class="tools slim">
        <TableChoice app={app} table={table} />
        <label class="line">
          Kind
          <select value={kind.value} onChange={(event) => (kind.value = event.currentTarget.value as ExpressionKind)}>
            {EXPRESSION_KINDS.map((one) => <option key={one}>{one}</option>)}
          </select>
        </label>
      </div>
      <textarea class="expression-text" aria-label="Expression" spellcheck={false} rows={1} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      <div class="substitutions">
        <label>
          Names
          <input spellcheck={false} placeholder={'{"#s": "status"}'} value={names.value} onInput={(event) => (names.value = event.currentTarget.value)} />
        </label>
        <label>
          Values
          <input spellcheck={false} placeholder={'{":open": {"S": "OPEN"}}'} value={values.value} onInput={(event) => (values.value = event.currentTarget.value)} />
        </label>
      </div>
      {trouble.value && <p class="trouble" role="alert">{trouble.value}</p>}
      {explained && !trouble.value && (
        <>
          <Fault expression={of} explained={explained} />
          {explained.nodes.length > 0 && (
            <div class="explained">
              <Tree expression={of} nodes={explained.nodes} item={item} />
              <Items items={explained.items} chosen={chosen.value} onChoose={(at) => (chosen.value = at)} />
            </div>
          )}
        </>
      )}
    </div>
  );
}

function read(): Expression {
  const parsed = <T,>(json: string): T | undefined => (json.trim() ? (JSON.parse(json) as T) : undefined);
  const given = { names: parsed<Record<string, string>>(names.value), values: parsed<Attributes>(values.value) };
  return { kind: kind.value, text: text.value, ...(given.names ? { names: given.names } : {}), ...(given.values ? { values: given.values } : {}) };
}

function Items({ items, chosen, onChoose }: { items: ExpressionItem[]; chosen: number; onChoose: (at: number) => void }) {
  if (items.length === 0) return null;
  const judged = items.filter(({ holds }) => holds !== undefined);
  return (
    <div class="evaluated">
      <p class="quiet">{judged.length > 0 ? `True for ${judged.filter(({ holds }) => holds).length} of the first ${items.length} items` : `The first ${items.length} items`}</p>
      <ul aria-label="Items that the expression is evaluated for">
        {items.map((item, at) => (
          <li key={keyText(item.key)}>
            <button type="button" aria-pressed={at === chosen} data-holds={item.holds} onClick={() => onChoose(at)}>
              {item.holds !== undefined && <b class="verdict" aria-label={item.holds ? 'true' : 'false'}>{item.holds ? '✓' : '✗'}</b>}
              {keyText(item.key)}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
