// The twin's wasm build in this process, behind HTTP. Argument: the seed.
import { Dynatwin } from '../../wasm/npm/node.js';
import { listen } from './relay.js';

const twin = new Dynatwin({ seed: Number(process.argv[2]) });
await listen(async (method, path, headers, body) => {
  const { statusCode, ...answer } = await twin.carry(twin.handle(method, path, headers, body));
  return { status: statusCode, ...answer };
});
