// After the build: the list of files that the service worker keeps, and the size of the first load.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));
const LIMIT = 1.1e6;

const all = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? all(path) : [path];
  });
const files = all(DIST).map((path) => relative(DIST, path)).filter((path) => path !== 'service-worker.js').sort();
const hash = createHash('sha256');
let size = 0;
// What is fetched before the editor is touched and another panel is shown.
const FIRST = /^[^/]*$|^assets\/(index-|app|jsxRuntime|engine-worker|dynatwin_bg|code-worker|dist-es)/;
let first = 0;
for (const file of files) {
  const content = readFileSync(join(DIST, file));
  hash.update(file).update(content);
  const packed = gzipSync(content, { level: 9 }).length;
  size += packed;
  if (FIRST.test(file)) first += packed;
  if (packed > 4096) console.log(`${(packed / 1024).toFixed(1).padStart(7)} KB gzip  ${file}`);
}
const worker = readFileSync(new URL('../src/service-worker.js', import.meta.url), 'utf8');
writeFileSync(
  join(DIST, 'service-worker.js'),
  worker.replace('__VERSION__', hash.digest('hex').slice(0, 16)).replace('[/* files */]', JSON.stringify(['./', ...files])),
);
console.log(`${(size / 1024).toFixed(1).padStart(7)} KB gzip  in all`);
console.log(`${(first / 1024).toFixed(1).padStart(7)} KB gzip  at first, of at most ${(LIMIT / 1024).toFixed(0)} KB`);
