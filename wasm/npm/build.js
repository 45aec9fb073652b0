// Builds `dist` from `src` and `pkg`: an ES module and a CommonJS module for each entry, with their types.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

process.chdir(import.meta.dirname);
rmSync('dist', { recursive: true, force: true });

// The compiler checks the sources and writes the types; the bundler joins each entry with the bindings of the wasm module.
execFileSync('node_modules/.bin/tsc', { stdio: 'inherit' });
const ENTRIES = ['browser', 'node', 'workerd'];
const reachable = new Set(ENTRIES.map((entry) => `${entry}.d.ts`));
for (const file of reachable) {
  const imports = readFileSync(`dist/esm/${file}`, 'utf8').matchAll(/from '\.\/(\w+)\.js'/g);
  for (const [, name] of imports) reachable.add(`${name}.d.ts`);
}
for (const file of readdirSync('dist/esm')) if (!reachable.has(file)) rmSync(`dist/esm/${file}`);
mkdirSync('dist/cjs');
for (const file of readdirSync('dist/esm')) cpSync(`dist/esm/${file}`, `dist/cjs/${file}`);
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');

const common = { bundle: true, target: 'es2022', external: ['dynatwin', '*.wasm'], logLevel: 'warning' };
await build({ ...common, format: 'esm', entryPoints: ['src/browser.ts', 'src/workerd.ts'], outdir: 'dist/esm' });
await build({ ...common, format: 'esm', platform: 'node', entryPoints: ['src/node.ts'], outdir: 'dist/esm' });
await build({
  ...common,
  format: 'cjs',
  platform: 'node',
  entryPoints: ['src/node.ts'],
  outdir: 'dist/cjs',
  define: { 'import.meta.url': '__url' },
  banner: { js: "const __url = require('node:url').pathToFileURL(__filename).href;" },
});
cpSync('pkg/dynatwin_bg.wasm', 'dist/dynatwin.wasm');
