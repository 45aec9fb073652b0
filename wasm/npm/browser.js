// The package in a browser: `await ready()` fetches the module, once.
import load from './pkg/dynatwin.js';

let loading;

export const ready = () => {
  loading ??= load({ module_or_path: new URL('./pkg/dynatwin_bg.wasm', import.meta.url) }).then(
    () => undefined,
    (error) => {
      loading = undefined;
      throw error;
    },
  );
  return loading;
};
export { passPauses } from './passing.js';
export { Dynatwin } from './twin.js';
