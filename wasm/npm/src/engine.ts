// The wasm module: loaded once, before the first twin.
import { Engine, initSync, Snapshot as EngineSnapshot } from '../pkg/dynatwin.js';
import type { ModuleSource } from './types.js';

export { Engine, EngineSnapshot };

let loaded = false;

export const isLoaded = (): boolean => loaded;

export function load(module: WebAssembly.Module | BufferSource): void {
  if (loaded) return;
  initSync({ module });
  loaded = true;
}

/** Fetches, compiles and loads a module. */
export async function loadFrom(source: ModuleSource): Promise<void> {
  const given = typeof source === 'string' || source instanceof URL ? await fetch(source) : source;
  const isResponse = typeof Response === 'function' && given instanceof Response;
  load(isResponse ? await compile(given) : (given as WebAssembly.Module | BufferSource));
}

async function compile(response: Response): Promise<WebAssembly.Module> {
  if (!response.ok) throw new Error(`${response.url} was answered with ${response.status}.`);
  const isWasm = response.headers.get('content-type')?.startsWith('application/wasm');
  if (isWasm) return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}
