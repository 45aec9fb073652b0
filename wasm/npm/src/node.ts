// The package in Node, Bun and Deno: the module is next to this file and is loaded when the package is imported.
import { readFileSync } from 'node:fs';
import { createRequire as requireFrom } from 'node:module';
import { isLoaded, load, loadFrom } from './engine.js';
import type { ModuleSource } from './types.js';

export * from './api.js';

// Bundlers leave the module behind. It may still be found by the package's name, or is passed to `ready`. Bundles of
// other tools often declare `createRequire` themselves.
function read(): Uint8Array<ArrayBuffer> | undefined {
  const beside = () => readFileSync(new URL('../dynatwin.wasm', import.meta.url));
  const installed = () => readFileSync(requireFrom(import.meta.url).resolve('dynatwin/dynatwin.wasm'));
  for (const find of [beside, installed]) {
    try {
      return find();
    } catch {}
  }
  return undefined;
}

const found = read();
if (found) load(found);

/** Resolves when the wasm module is loaded. Bundles without the module pass it: `ready(bytes)`. */
export async function ready(module?: ModuleSource | Promise<ModuleSource>): Promise<void> {
  if (isLoaded()) return;
  if (module === undefined) throw new Error('dynatwin.wasm is not next to this bundle: pass it to ready(module).');
  await loadFrom(await module);
}
