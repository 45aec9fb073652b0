// A program in one file, without node_modules: the bundler embeds the wasm module, and the program passes it to the engine.
import { Dynatwin, ready } from 'dynatwin';
import module from 'dynatwin/dynatwin.wasm';

async function main() {
  if (process.argv[1].includes('node_modules')) throw new Error('The program is to be moved away.');
  await ready(module);
  console.log(`${new Dynatwin().tables().length} tables`);
}
main();
