// The command line of `npx dynatwin`: the common flags of the native server, for the engine in this process.
import type { Options } from './types.js';

export interface Flags {
  port: number;
  host: string;
  log: 'off' | 'errors' | 'requests';
  options: Options;
}

/** The action that a command line requests. */
export type Invocation = { run: Flags } | { print: string };

/** The flags parsed so far; clock and speed make up one option. */
interface ParsedFlags {
  flags: Flags;
  clock?: string;
  speed?: number;
}

interface Flag {
  /** The name in DynamoDB Local's spelling: `--shared-db`, `--sharedDb` and `-sharedDb` follow from `sharedDb`. */
  name: string;
  /** The form of its value; absent for a switch. */
  form?: string;
  help: string;
  /** Sets the value; returns `false` if it is invalid. */
  set(parsed: ParsedFlags, value: string): boolean | void;
}

const oneOf = (value: string, ...words: string[]) => words.includes(value);
const number = (value: string, least: number, most: number) => value !== '' && Number(value) >= least && Number(value) <= most;

const FLAGS: Flag[] = [
  {
    name: 'port',
    form: 'PORT',
    help: 'the port; 0 picks a free port and prints it (8000)',
    set({ flags }, value) {
      flags.port = Number(value);
      return /^\d+$/.test(value) && flags.port < 65_536;
    },
  },
  { name: 'host', form: 'HOST', help: 'the address to listen on (127.0.0.1)', set: ({ flags }, value) => void (flags.host = value) },
  {
    name: 'conditions',
    form: 'calm|aws|storm',
    help: 'the preset of production behavior (calm)',
    set({ flags: { options } }, value) {
      options.conditions = value as 'calm';
      return oneOf(value, 'calm', 'aws', 'storm');
    },
  },
  {
    name: 'seed',
    form: 'N',
    help: 'the random seed; the same seed repeats a run (generated and printed at startup)',
    set({ flags: { options } }, value) {
      if (!/^\d{1,20}$/.test(value) || BigInt(value) >= 1n << 64n) return false;
      options.seed = BigInt(value);
    },
  },
  {
    name: 'clock',
    form: 'system|settable|MOMENT',
    help: "the clock: the system's, one that stands still until it is advanced, or one that starts at a moment such as 2026-01-01T00:00:00Z (system)",
    set(parsed, value) {
      parsed.clock = value;
      return oneOf(value, 'system', 'settable') || /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value);
    },
  },
  {
    name: 'speed',
    form: 'X',
    help: 'emulated seconds per real second (1)',
    set(parsed, value) {
      parsed.speed = Number(value);
      return number(value, 0.001, 1e9);
    },
  },
  {
    name: 'log',
    form: 'off|errors|requests',
    help: 'the level of the log on standard error (errors)',
    set({ flags }, value) {
      flags.log = value as 'off';
      return oneOf(value, 'off', 'errors', 'requests');
    },
  },
  {
    name: 'sharedDb',
    help: 'one set of tables for all access keys and regions',
    set: ({ flags: { options } }) => void (options.sharedTables = true),
  },
  { name: 'inMemory', help: 'accepted: data is always in memory', set() {} },
];

const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function help(): string {
  const lines = FLAGS.map(({ name, form, help }) => `  ${`--${kebab(name)}${form ? ` ${form}` : ''}`.padEnd(42)} ${help}`);
  return [
    'Usage: dynatwin [FLAGS]',
    '',
    'An emulator of Amazon DynamoDB, on its WebAssembly engine: no native binary for this system is installed.',
    '',
    ...lines,
    `  ${'--version'.padEnd(42)} prints the version and exits`,
    `  ${'--help'.padEnd(42)} prints this help and exits`,
  ].join('\n');
}

/** Parses a command line without the program's name. Throws an `Error` with a sentence if it is invalid. */
export function parse(words: string[], version: string): Invocation {
  const flags: Flags = { port: 8000, host: '127.0.0.1', log: 'errors', options: {} };
  const parsed: ParsedFlags = { flags };
  const left = [...words];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const [, name, given] = /^--?([A-Za-z][A-Za-z-]*)(?:=(.*))?$/.exec(word) ?? [];
    if (name === 'help' || word === '-h') return { print: help() };
    if (name === 'version') return { print: `dynatwin ${version}` };
    const flag = FLAGS.find((flag) => flag.name === name || kebab(flag.name) === name);
    if (!flag) throw new Error(`${word} is not a flag; --help lists them`);
    if (!flag.form) {
      if (given !== undefined) throw new Error(`${word}: --${kebab(flag.name)} takes no value`);
      flag.set(parsed, '');
      continue;
    }
    const value = given ?? left.shift();
    if (value === undefined) throw new Error(`${word} takes a value: ${flag.form}`);
    if (flag.set(parsed, value) === false) throw new Error(`${word}: '${value}' is not ${flag.form}`);
  }
  flags.options.clock = clockOf(parsed);
  return { run: flags };
}

function clockOf({ clock = 'system', speed }: ParsedFlags): NonNullable<Options['clock']> {
  if (clock === 'settable') {
    if (speed !== undefined) throw new Error('--speed: a settable clock stands still');
    return clock;
  }
  const start = clock === 'system' ? {} : { start: clock };
  return start.start === undefined && speed === undefined ? 'system' : { ...start, ...(speed !== undefined && { speed }) };
}
