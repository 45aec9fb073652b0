// The app's interface to an engine: one asynchronous function for every kind of engine.

/** What a request is answered with, and how the answer is to be delivered. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array;
  /** When the answer arrives, by the emulator's clock, in milliseconds since 1970. */
  at: number;
  delivery: { kind: 'whole' | 'reset' | 'lost' } | { kind: 'truncated'; bytes: number };
}

export type Headers = Record<string, string>;

/** The settings of an engine in this tab. */
export interface Start {
  seed: number;
  /** The present moment of its clock. */
  moment: string;
}

export interface Transport {
  /** Where the engine runs. */
  readonly home: 'tab' | 'server';
  handle(method: string, path: string, headers?: Headers, body?: string | Uint8Array): Promise<Reply>;
  /** Replaces the engine by a new one; a server's engine stays. */
  restart(start: Start): Promise<void>;
  /** A connection of its own for a Worker; a server is reached by `fetch` instead. */
  connect(): MessagePort | undefined;
}

const decoder = new TextDecoder();

export const textOf = (reply: Reply): string => decoder.decode(reply.body);

/** A request in a message to the engine's Worker. */
export interface Call {
  id: number;
  method: string;
  path: string;
  headers: Headers;
  body: string | Uint8Array | undefined;
}

/** What is done with the engine as a whole. */
export type EngineControl =
  | { do: 'load'; module: WebAssembly.Module }
  | { do: 'start'; start: Start };

export interface EngineCall {
  id: number;
  control: EngineControl;
}

export type ToEngine = Call | EngineCall | { port: MessagePort };

/** A message from the engine's Worker. */
export type Returned = { id: number; reply: Reply } | { id: number } | { id: number; failure: string };
