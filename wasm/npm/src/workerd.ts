// The package in Cloudflare Workers, where modules are compiled at deployment and imported.
import module from '../dynatwin.wasm';
import { load } from './engine.js';

export * from './api.js';

load(module);

/** Resolves at once: the wasm module is loaded with the package. */
export const ready = (): Promise<void> => Promise.resolve();
