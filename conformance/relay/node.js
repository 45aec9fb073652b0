// The twin's wasm build in this process, behind HTTP. Arguments: the seed, and the clock if it is not the system's.
import { Dynatwin } from '../../wasm/npm/dist/esm/node.js';
import { listen } from './relay.js';

const twin = new Dynatwin({ seed: Number(process.argv[2]), clock: process.argv[3] });
await listen(async (method, path, headers, body) => {
  const { statusCode, ...answer } = await twin.carry(twin.handle(method, path, headers, body));
  return { status: statusCode, ...answer };
});
