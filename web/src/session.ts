// What a visit consists of: seed, conditions, code, and what was done when. It is small, and replays to the same events.
import type { ConditionsChange } from './transport/control';

/** Something that was done, other than waiting. */
export type Act =
  | { do: 'run'; code: string }
  | { do: 'stop' }
  | { do: 'conditions'; change: ConditionsChange }
  | { do: 'fault'; rule: Record<string, unknown> }
  | { do: 'outage'; outage: Record<string, unknown> }
  | { do: 'unfault'; id: number }
  | { do: 'pause' | 'resume'; table: string; index: string }
  | { do: 'expire'; table: string }
  | { do: 'request'; operation: string; body: unknown };

export interface Step {
  /** Milliseconds since the start of the session, by the emulator's clock. */
  at: number;
  act: Act;
}

export interface Session {
  version: 1;
  seed: number;
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
  const bytes = await through(new TextEncoder().encode(JSON.stringify(pack(session))), new CompressionStream('deflate-raw'));
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return `s=${btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

/** The session of a link's fragment; `undefined` if there is none. */
export async function fromFragment(fragment: string): Promise<Session | undefined> {
  const packed = /^#?s=([\w-]+)$/.exec(fragment)?.[1];
  if (!packed) return undefined;
  try {
    const text = atob(packed.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const json = new TextDecoder().decode(await through(bytes, new DecompressionStream('deflate-raw')));
    return checked(unpack(JSON.parse(json)));
  } catch {
    return undefined;
  }
}

/** A session of a file or of storage, if it is one. */
export function checked(value: unknown): Session | undefined {
  const session = value as Session;
  const sound =
    typeof session === 'object' && session !== null && session.version === 1 && typeof session.code === 'string' &&
    Number.isSafeInteger(session.seed) && Number.isFinite(session.until) && Array.isArray(session.script) &&
    session.script.every(({ at, act }) => Number.isFinite(at) && typeof act?.do === 'string');
  return sound ? session : undefined;
}

// The code in the editor is usually what was run: it is not said twice.
function pack(session: Session): unknown {
  const script = session.script.map((step) => (step.act.do === 'run' && step.act.code === session.code ? { at: step.at, act: { do: 'run' } } : step));
  return { ...session, script };
}

function unpack(value: Session): Session {
  const script = value.script?.map((step) => (step.act.do === 'run' && step.act.code === undefined ? { at: step.at, act: { do: 'run' as const, code: value.code } } : step));
  return { ...value, script };
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}
