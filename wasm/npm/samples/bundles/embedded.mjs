// A page in one file: the bundler embeds the wasm module, and the page passes it to the engine.
import { Dynatwin, ready } from 'dynatwin';
import module from 'dynatwin/dynatwin.wasm';

ready(module).then(
  () => (document.title = `${new Dynatwin().tables().length} tables`),
  (error) => (document.title = `failed: ${error}`),
);
