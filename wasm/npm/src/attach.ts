// Attaches existing clients, such as those of an application's module scope.
import { dispose } from './dispose.js';
import type { RetryStrategy } from './types.js';

/** A client that a twin answers until it is detached. */
export interface Attachment {
  /** Restores the client's previous settings. */
  detach(): void;
  [Symbol.dispose](): void;
}

/** A client's resolved configuration, which a document client created from the client shares. */
export interface ClientSettings {
  retryStrategy?: () => RetryStrategy | Promise<RetryStrategy>;
  [name: string]: unknown;
}

interface Attached {
  own: ClientSettings;
  layers: ClientSettings[];
}

const attached = new WeakMap<object, Attached>();

/**
 * Replaces settings of a client. The latest attachment of a client applies; detaching it restores the one before, or
 * the client's own settings.
 */
export function attach(client: { config: object }, replace: (own: ClientSettings) => ClientSettings): Attachment {
  const config = client?.config as ClientSettings | undefined;
  if (config?.requestHandler === undefined) {
    throw new TypeError('attach takes a client of the AWS SDK for JavaScript v3.');
  }
  const replacements = replace(config);
  const names = Object.keys(replacements);
  const state: Attached = attached.get(config) ?? { own: Object.fromEntries(names.map((name) => [name, config[name]])), layers: [] };
  attached.set(config, state);
  state.layers.push(replacements);
  Object.assign(config, replacements);
  const detach = () => {
    const place = state.layers.indexOf(replacements);
    if (place < 0) return;
    state.layers.splice(place, 1);
    Object.assign(config, state.layers.at(-1) ?? state.own);
    if (state.layers.length === 0) attached.delete(config);
  };
  return { detach, [dispose]: detach };
}
