// A session: seed, conditions, code, and the actions with their times. It is small, and replays to the same events.
import type { Definition } from './definitions';
import { packed, unpacked } from './encode';
import type { ConditionsChange, Outage, Rule } from './transport/control';
import type { Account } from './transport/dynamodb';

/** Something that was done, other than waiting. */
export type Act =
  | { do: 'run'; code: string }
  | { do: 'stop' }
  | { do: 'conditions'; change: ConditionsChange }
  | { do: 'fault'; rule: Rule }
  | { do: 'outage'; outage: Outage }
  | { do: 'unfault'; id: number }
  | { do: 'pause' | 'resume'; account: Account; table: string; index: string }
  | { do: 'pauseReplication' | 'resumeReplication'; account: Account; table: string; region: string }
  | { do: 'expire'; account: Account; table: string }
  | { do: 'request'; account: Account; operation: string; body: unknown };

export interface Step {
  /** Milliseconds since the start of the session, by the emulator's clock. */
  at: number;
  act: Act;
}

/** The initial state of a session, unless it is an empty engine. */
export interface Base {
  /** A snapshot of the engine, packed. */
  snapshot: string;
  /** The tables' definitions, which a page learns from requests. */
  definitions: [string, Definition][];
  /** Whether it was opened from a file: code that runs from the start finds it too. */
  opened: boolean;
}

export interface Session {
  version: 2;
  seed: number;
  base?: Base;
  /** What is in the editor. */
  code: string;
  /** The example that the code comes from. */
  example?: string;
  script: Step[];
  /** How far the clock has come, in milliseconds since the start. */
  until: number;
}

/** When every session starts. */
export const START = Date.UTC(2026, 0, 1);

/** A session as the fragment of a link. */
export async function toFragment(session: Session): Promise<string> {
  return `s=${await packed(new TextEncoder().encode(JSON.stringify(shorter(session))))}`;
}

/** Whether a fragment is that of a link to a session, though it may be damaged. */
export const isLink = (fragment: string): boolean => /^#?s=/.test(fragment);

/** The session of a link's fragment; `undefined` if there is none. */
export async function fromFragment(fragment: string): Promise<Session | undefined> {
  const text = /^#?s=([\w-]+)$/.exec(fragment)?.[1];
  if (!text) return undefined;
  try {
    return checked(longer(JSON.parse(new TextDecoder().decode(await unpacked(text)))));
  } catch {
    return undefined;
  }
}

/** A session of a file or of storage, if it is one. */
export function checked(value: unknown): Session | undefined {
  const session = value as Session;
  const sound =
    typeof session === 'object' && session !== null && session.version === 2 && typeof session.code === 'string' &&
    Number.isSafeInteger(session.seed) && Number.isFinite(session.until) && Array.isArray(session.script) &&
    session.script.every(({ at, act }) => Number.isFinite(at) && typeof act?.do === 'string') &&
    (session.base === undefined || (typeof session.base.snapshot === 'string' && Array.isArray(session.base.definitions)));
  return sound ? session : undefined;
}

// The code in the editor is usually the code that was run: it is not repeated in the script.
function shorter(session: Session): unknown {
  const script = session.script.map((step) => (step.act.do === 'run' && step.act.code === session.code ? { at: step.at, act: { do: 'run' } } : step));
  return { ...session, script };
}

function longer(value: Session): Session {
  const script = value.script?.map((step) => (step.act.do === 'run' && step.act.code === undefined ? { at: step.at, act: { do: 'run' as const, code: value.code } } : step));
  return { ...value, script };
}
