// The controls of an engine, by the functions and types that are derived from their declaration (see docs/control.md).
import * as controls from '../../../wasm/npm/src/controls';
import { signedHeaders, type Account } from './dynamodb';
import { textOf, type Headers, type Reply, type Transport } from './transport';

export type {
  AttributeValue,
  Attributes,
  BetterRead,
  Clock as ClockState,
  Conditions,
  ConditionsOption as ConditionsChange,
  Direction,
  Event as EngineEvent,
  ExplainedExpression,
  Explanation,
  ExpressionNode,
  FaultReport,
  Heat,
  Lag,
  ItemsPage,
  Level,
  Outage,
  Overview,
  CapacityPartition as HeatPartition,
  Pending,
  RegionalWrite,
  Replication,
  Request as RecordedRequest,
  Resource,
  Rule,
  StoredItem,
  Table as TableEntry,
  RecordedAccess,
  WaitingItem,
} from '../../../wasm/npm/src/controls';

export type ExplainedEntry = controls.Explanation['entries'][number];
export type ExpressionItem = controls.ExplainedExpression['items'][number];

export const EXPRESSION_KINDS = ['FilterExpression', 'KeyConditionExpression', 'ConditionExpression', 'UpdateExpression', 'ProjectionExpression'] as const;
export type ExpressionKind = (typeof EXPRESSION_KINDS)[number];

export interface Expression {
  kind: ExpressionKind;
  text: string;
  names?: Record<string, string>;
  values?: controls.Attributes;
}

/** A control that was refused, in a sentence. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export class Control {
  /** `account` owns the tables that requests name; without it, any account that has a table of the name does. */
  constructor(
    readonly transport: Transport,
    readonly account?: Account,
  ) {}

  /** The controls of an account's tables. */
  of(account: Account): Control {
    return new Control(this.transport, account);
  }

  overview = () => this.call(controls.getOverview());
  clock = () => this.call(controls.getClock());
  setClock = (milliseconds: number) => this.call(controls.setClock({ now: new Date(milliseconds).toISOString() }));
  advance = (seconds: number) => this.call(controls.advanceClock({ seconds }));
  setConditions = (change: controls.ConditionsOption) => this.call(controls.setConditions(change));
  tables = () => this.call(controls.listTables());
  faults = () => this.call(controls.listFaults()).then(({ rules }) => rules);
  addFault = (rule: controls.Rule) => this.call(controls.addFault(rule));
  startOutage = (outage: controls.Outage) => this.call(controls.startOutage(outage));
  removeFault = (id: number) => this.call(controls.removeFault({ id }));
  watch = () => this.call(controls.watch({ bodies: true, events: true }));
  events = (after: number, limit: number) => this.call(controls.listEvents({ after, limit }));
  requests = (query: { after: number; limit?: number; bodies?: boolean }) => this.call(controls.listRequests(query)).then(({ requests }) => requests);
  request = (number: number) => this.call(controls.getRequest({ number }));
  pending = (table: string) => this.call(controls.getPending({ table, limit: 100 }));
  items = (query: Parameters<typeof controls.listItems>[0]) => this.call(controls.listItems(query));
  heat = (table: string) => this.call(controls.getHeat({ table }));
  pauseIndex = (table: string, index: string) => this.call(controls.pauseIndex({ table, index }));
  resumeIndex = (table: string, index: string) => this.call(controls.resumeIndex({ table, index }));
  replication = (table: string) => this.call(controls.listReplication({ table }));
  pauseReplication = (table: string, region: string) => this.call(controls.pauseReplication({ table, region }));
  resumeReplication = (table: string, region: string) => this.call(controls.resumeReplication({ table, region }));
  expireNow = (table: string) => this.call(controls.expireNow({ table }));

  /** The tables, items, conditions and the clock's moment as bytes. */
  snapshot = () => this.#handled(controls.getSnapshot()).then(({ body }) => body);
  restore = (bytes: Uint8Array) => this.call(controls.restoreSnapshot(bytes));
  explain = (number: number) => this.call(controls.explainRequest({ number }));

  /** Explains an expression, and evaluates it for some items of a table or index. */
  explainExpression({ kind, text, names, values }: Expression, table: string, index = ''): Promise<controls.ExplainedExpression> {
    const json = (members?: object) => (members && Object.keys(members).length > 0 ? JSON.stringify(members) : undefined);
    const expression = { kind, expression: text, names: json(names), values: json(values), index: index || undefined, limit: 20 };
    return this.call(controls.explainExpression({ table, ...expression }));
  }

  /** Calls a control and returns its answer. */
  async call<Answer>(call: controls.Call<Answer>): Promise<Answer> {
    const said = textOf(await this.#handled(call));
    return (said ? JSON.parse(said) : {}) as Answer;
  }

  async #handled({ method, path, body }: controls.Call<unknown>): Promise<Reply> {
    const headers: Headers = this.account ? signedHeaders(this.account) : {};
    const isBytes = body instanceof Uint8Array;
    const sent = isBytes || body === undefined ? body : JSON.stringify(body);
    if (sent !== undefined) headers['content-type'] = isBytes ? 'application/octet-stream' : 'application/json';
    const reply = await this.transport.handle(method, `/_dynatwin${path}`, headers, sent);
    if (reply.status < 400) return reply;
    const { error } = JSON.parse(textOf(reply) || '{}') as { error?: string };
    throw new Refused(error ?? `HTTP ${reply.status}`, reply.status);
  }
}
