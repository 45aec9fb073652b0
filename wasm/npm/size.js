// Prints the size of the module, uncompressed and compressed.
import { readFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const module = readFileSync(new URL('pkg/dynatwin_bg.wasm', import.meta.url));
const gzip = gzipSync(module, { level: 9 });
const brotli = brotliCompressSync(module, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
const kilobytes = (bytes) => `${(bytes.length / 1024).toFixed(1)} KB`;
console.log(`dynatwin_bg.wasm: ${kilobytes(module)} raw, ${kilobytes(gzip)} gzip, ${kilobytes(brotli)} brotli`);
