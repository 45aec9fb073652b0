// The pane on the left: code, statements and raw requests, and their results.
import { signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { App } from '../app';
import { EXAMPLES } from '../examples';
import type { TableView } from '../tables';
import { words } from '../transport/dynamodb';
import { timeOfDay } from '../words';
import type { CopyAs } from './copies';
import { Editor } from './editor';
import { Icon } from './icon';
import { LessonTable } from './lesson';
import { Tabs } from './tabs';

const TABS = ['Code', 'PartiQL', 'Request'] as const;

export function CodePane({ app }: { app: App }) {
  const tab = useSignal<(typeof TABS)[number]>('Code');
  return (
    <section class="pane code-pane" aria-label="Code and requests">
      <Tabs label="Kind of request" id="send" names={TABS} selected={tab} />
      <div class="tab-body" role="tabpanel" id="send-panel" aria-label={tab.value}>
        {tab.value === 'Code' && <Code app={app} />}
        {tab.value === 'PartiQL' && <Statement app={app} />}
        {tab.value === 'Request' && <RawRequest app={app} />}
      </div>
    </section>
  );
}

function Code({ app }: { app: App }) {
  const { code, example } = app;
  const runState = app.run.state;
  const chosen = EXAMPLES.find(({ id }) => id === example.value);
  const run = () => void app.runCode();
  const running = runState.value === 'running';
  return (
    <>
      <p class="about">{chosen?.about ?? 'Your own code. It runs as in Node, with the AWS SDK, on the emulator’s clock.'}</p>
      <Editor code={code} language="javascript" label="JavaScript that runs against the emulator" onRun={run} onEdit={() => (example.value = chosen && app.original === code.value ? chosen.id : undefined)} />
      <div class="tools">
        {running ? (
          <button type="button" class="primary" onClick={() => app.stopCode()}>
            <Icon name="stop" /> Stop
          </button>
        ) : (
          <button type="button" class="primary" onClick={run} title={app.isTab ? 'Runs the code on a new emulator, without the present tables (Ctrl+Enter)' : 'Ctrl+Enter'}>
            <Icon name="play" /> {app.isTab ? 'Run from the start' : 'Run'}
          </button>
        )}
        {app.isTab && !running && (
          <button type="button" onClick={() => void app.runCode(true)} title="Runs the code on the existing tables">
            Run again
          </button>
        )}
        <span class="state" data-state={runState.value}>{STATES[runState.value]}</span>
        <CopyMenu app={app} />
      </div>
      {chosen?.kind === 'lesson' && app.teaches && <LessonTable app={app} lesson={chosen} />}
      <MissingTable app={app} />
      <Output app={app} />
    </>
  );
}

const STATES = { idle: '', running: 'Running', ended: 'Finished', failed: 'Ended with an error', stopped: 'Stopped' };

function Output({ app }: { app: App }) {
  const list = useRef<HTMLOListElement>(null);
  const lines = app.run.output.value;
  useEffect(() => {
    const element = list.current;
    const last = element?.lastElementChild as HTMLElement | null;
    // A text that is longer than the list is shown from its beginning.
    if (element && last) element.scrollTop = last.offsetHeight > element.clientHeight ? last.offsetTop : element.scrollHeight;
  }, [lines]);
  return (
    <ol class="output" ref={list} tabIndex={0} aria-label="Output of the code">
      {lines.length === 0 && <li class="quiet">What the code prints appears here.</li>}
      {lines.slice(-300).map((line, at) => (
        <li key={at} data-level={line.level}>
          <time>{timeOfDay(line.at)}</time>
          <pre>{line.text}</pre>
        </li>
      ))}
    </ol>
  );
}

// Offers to create the table that the code requested.
function MissingTable({ app }: { app: App }) {
  const trouble = useSignal('');
  if (!app.missing.value) return null;
  const { table, account } = app.missing.value;
  const guess = guessTable(app.code.value);
  const create = async () => {
    try {
      await app.request('CreateTable', { TableName: table, ...guess.definition }, account);
      if (guess.ttl) {
        const specification = { Enabled: true, AttributeName: guess.ttl };
        await app.request('UpdateTimeToLive', { TableName: table, TimeToLiveSpecification: specification }, account);
      }
      app.run.missed.value = false;
      await app.act({ do: 'run', code: app.code.value });
      app.time.playing.value = true;
    } catch (error) {
      trouble.value = words(error);
    }
  };
  return (
    <div class="offer">
      <p>
        The code uses the table <b>{table}</b>, which is not there. From the code, its key is <code>{guess.keys.join(', ')}</code>
        {guess.ttl && <>, and items expire by <code>{guess.ttl}</code></>}.
      </p>
      <button type="button" class="primary" onClick={() => void create()}>Create {table} and run again</button>
      {trouble.value && <p class="trouble">{trouble.value}</p>}
    </div>
  );
}

/** The table that code seems to expect: its key attributes and the attribute by which items expire. */
export function guessTable(code: string) {
  const [, exists] = /attribute_not_exists\((\w+)\)/.exec(code) ?? [];
  const partition = exists ?? ['PK', 'pk', 'id', 'userId'].find((name) => new RegExp(`\\b${name}\\b`).test(code)) ?? 'PK';
  const sort = ['SK', 'sk'].find((name) => name !== partition && new RegExp(`\\b${name}\\b`).test(code));
  const keys = sort ? [partition, sort] : [partition];
  const ttl = ['expiresAt', 'expires_at', 'ttl', 'TTL', 'expireAt'].find((name) => new RegExp(`\\b${name}\\b`).test(code));
  const definition = {
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: keys.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: keys.map((AttributeName, at) => ({ AttributeName, KeyType: at ? 'RANGE' : 'HASH' })),
  };
  return { keys, ttl, definition };
}

const statement = signal('');
const operation = signal('Query');
const body = signal('');
/** What was suggested, which follows the selected table until it is edited. */
const suggested = { statement: '', body: '' };

function suggest(app: App, { name, keys }: Pick<TableView, 'name' | 'keys'>): void {
  const key = keys[0] ?? { name: 'PK', type: 'S' };
  // Proposes an item that was just used, so that the query finds something.
  const used = app.feed.requests.peek().findLast(({ accesses }) => accesses.some((access) => access.table === name && access.key[key.name]));
  const value = String(used?.accesses.find((access) => access.table === name && access.key[key.name])?.key[key.name]?.[key.type] ?? (key.type === 'N' ? '1' : 'CUSTOMER#ada'));
  if (statement.value === suggested.statement) {
    suggested.statement = `SELECT * FROM "${name}" WHERE "${key.name}" = ${key.type === 'N' ? value : `'${value.replaceAll("'", "''")}'`}`;
    statement.value = suggested.statement;
  }
  if (body.value === suggested.body) {
    const query = { TableName: name, KeyConditionExpression: '#pk = :pk', ExpressionAttributeNames: { '#pk': key.name }, ExpressionAttributeValues: { ':pk': { [key.type]: value } }, ReturnConsumedCapacity: 'TOTAL' };
    suggested.body = JSON.stringify(query, undefined, 2);
    body.value = suggested.body;
  }
}

/** Suggests requests for the selected table. */
function useSuggestions(app: App): void {
  const table = app.tables.current.value;
  useEffect(() => suggest(app, table ?? { name: 'Shop', keys: [] }), [table?.id]);
}

/** Puts a request into the tab for raw requests. */
export function showRequest(name: string, json: string): void {
  operation.value = name;
  body.value = json;
}

function useAnswer(app: App) {
  const answer = useSignal('');
  const refused = useSignal(false);
  const send = async (name: string, payload: unknown) => {
    try {
      answer.value = JSON.stringify(await app.request(name, payload), undefined, 2);
      refused.value = false;
    } catch (error) {
      answer.value = words(error);
      refused.value = true;
    }
  };
  const view = answer.value && (
    <pre class="answer" data-refused={refused.value} tabIndex={0} aria-label="Answer">{answer.value}</pre>
  );
  return { send, view, refuse: (text: string) => ((answer.value = text), (refused.value = true)) };
}

function Statement({ app }: { app: App }) {
  useSuggestions(app);
  const { send, view } = useAnswer(app);
  const run = () => void send('ExecuteStatement', { Statement: statement.value, ReturnConsumedCapacity: 'TOTAL' });
  return (
    <>
      <p class="about">One statement of PartiQL. A SELECT without the partition key in its WHERE clause reads the whole table.</p>
      <Editor code={statement} language="text" label="PartiQL statement" onRun={run} />
      <div class="tools">
        <button type="button" class="primary" onClick={run}><Icon name="play" /> Run statement</button>
      </div>
      {view}
    </>
  );
}

const OPERATIONS = 'BatchGetItem BatchWriteItem CreateTable DeleteItem DeleteTable DescribeTable DescribeTimeToLive GetItem ListTables PutItem Query Scan TransactGetItems TransactWriteItems UpdateItem UpdateTable UpdateTimeToLive'.split(' ');

function RawRequest({ app }: { app: App }) {
  useSuggestions(app);
  const { send, view, refuse } = useAnswer(app);
  const run = () => {
    try {
      void send(operation.value, JSON.parse(body.value));
    } catch (error) {
      refuse(`The body is not JSON: ${words(error)}`);
    }
  };
  return (
    <>
      <label class="line">
        Operation
        <input list="operations" value={operation.value} onInput={(event) => (operation.value = event.currentTarget.value.trim())} />
        <datalist id="operations">{OPERATIONS.map((name) => <option key={name} value={name} />)}</datalist>
      </label>
      <Editor code={body} language="javascript" label="Body of the request, as JSON" onRun={run} />
      <div class="tools">
        <button type="button" class="primary" onClick={run}><Icon name="play" /> Send</button>
      </div>
      {view}
    </>
  );
}

const FORMS: CopyAs[] = ['Node', 'Vitest', 'Python', 'CLI'];

function CopyMenu({ app }: { app: App }) {
  const copied = useSignal('');
  const copy = async (kind: CopyAs) => {
    try {
      const { COPIES, rememberRequests } = await import('./copies');
      if (kind === 'Python' || kind === 'CLI') await rememberRequests(app);
      const text = COPIES[kind](app);
      await navigator.clipboard.writeText(text);
      copied.value = `Copied as ${kind}`;
      setTimeout(() => (copied.value = ''), 2_000);
    } catch {
      copied.value = 'The browser did not allow copying';
    }
  };
  return (
    <label class="choice copy">
      <span>{copied.value || 'Copy as'}</span>
      <select
        aria-label="Copy as"
        value=""
        onChange={(event) => {
          const kind = event.currentTarget.value as CopyAs;
          event.currentTarget.value = '';
          if (kind) void copy(kind);
        }}
      >
        <option value="">…</option>
        {FORMS.map((kind) => <option key={kind} value={kind}>{kind}</option>)}
      </select>
    </label>
  );
}
