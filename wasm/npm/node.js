// The package in Node and Bun: the module is read beside this file, and ready when this import is.
import { readFileSync } from 'node:fs';
import { initSync } from './pkg/dynatwin.js';

initSync({ module: readFileSync(new URL('./pkg/dynatwin_bg.wasm', import.meta.url)) });

export const ready = () => Promise.resolve();
export { passPauses } from './passing.js';
export { Dynatwin } from './twin.js';
