// The package in a browser: `await ready()` fetches the module, once.
import { isLoaded, loadFrom } from './engine.js';
import type { ModuleSource } from './types.js';

export * from './api.js';

let loading: Promise<void> | undefined;

/** Resolves when the wasm module is loaded: the given one, or the one next to the package. */
export function ready(module?: ModuleSource | Promise<ModuleSource>): Promise<void> {
  loading ??= fetched(module).catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function fetched(module?: ModuleSource | Promise<ModuleSource>): Promise<void> {
  if (!isLoaded()) await loadFrom((await module) ?? new URL('../dynatwin.wasm', import.meta.url));
}
