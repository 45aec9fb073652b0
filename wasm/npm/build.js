// Builds `dist` from `src` and `pkg`: an ES module and a CommonJS module for each entry, with their types.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const FOR_NODE = ['node', 'server', 'jest', 'vitest'];
const FOR_OTHERS = ['browser', 'workerd'];

process.chdir(import.meta.dirname);
rmSync('dist', { recursive: true, force: true });

// The compiler checks the sources and writes the types; only those that an entry needs are kept.
execFileSync('node_modules/.bin/tsc', { stdio: 'inherit' });
const needed = new Set([...FOR_NODE, ...FOR_OTHERS].map((entry) => `${entry}.d.ts`));
for (const file of needed) {
  const imports = readFileSync(`dist/esm/${file}`, 'utf8').matchAll(/from '\.\/(\w+)\.js'/g);
  for (const [, name] of imports) needed.add(`${name}.d.ts`);
}
for (const file of readdirSync('dist/esm')) if (!needed.has(file)) rmSync(`dist/esm/${file}`);
mkdirSync('dist/cjs');
for (const file of readdirSync('dist/esm')) cpSync(`dist/esm/${file}`, `dist/cjs/${file}`);
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');

// The bundler joins each entry with its imports, except for modules that must exist once.
const sources = (names) => names.map((name) => `src/${name}.ts`);
const common = { bundle: true, target: 'es2022', external: ['dynatwin', '*.wasm', '@jest/globals', 'vitest'], logLevel: 'warning' };
const esm = { ...common, format: 'esm', outdir: 'dist/esm' };
await build({ ...esm, entryPoints: sources(FOR_OTHERS) });
await build({ ...esm, platform: 'node', entryPoints: sources(FOR_NODE) });
await build({ ...esm, platform: 'node', entryPoints: ['src/cli.ts'], banner: { js: '#!/usr/bin/env node' } });
await build({
  ...common,
  format: 'cjs',
  platform: 'node',
  // Vitest itself is an ES module.
  entryPoints: sources(FOR_NODE.filter((name) => name !== 'vitest')),
  outdir: 'dist/cjs',
  inject: ['src/textcoding.ts'],
  define: { 'import.meta.url': '__url' },
  banner: { js: "const __url = require('node:url').pathToFileURL(__filename).href;" },
});
cpSync('pkg/dynatwin_bg.wasm', 'dist/dynatwin.wasm');
cpSync('../../emulator/src/operation/control/openapi.json', 'dist/openapi.json');
for (const name of ['LICENSE-APACHE', 'LICENSE-MIT']) cpSync(`../../${name}`, `dist/${name}`);
