// The messages between the page and the Worker that runs code.

export interface StartMessage {
  kind: 'start';
  code: string;
  now: number;
  seed: number;
  env: Record<string, string>;
  /** The engine's Worker; without it requests go to `base` by fetch. */
  port?: MessagePort;
  base: string;
  /** Whether the page sets the time; otherwise it is the machine's, this many milliseconds ahead. */
  settable: boolean;
}

export type ToWorker = StartMessage | { kind: 'tick'; id: number; now: number } | { kind: 'ping' } | { kind: 'warm' };

export type Level = 'log' | 'warn' | 'error' | 'note';

export type FromWorker =
  | { kind: 'loaded' }
  | { kind: 'pong' }
  | { kind: 'print'; level: Level; text: string; at: number }
  /** Nothing moves any more until the clock does; `next` is when a timer is due. */
  | { kind: 'quiet'; id: number; next: number | undefined }
  /** What `process.send` was called with. */
  | { kind: 'message'; message: unknown }
  | { kind: 'end'; code: number; error?: string };
