// Each sample with its runner. The folder is a clean copy with the packed package installed: see prepare.js.
const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { tmpdir } = require('node:os');
const { extname, join } = require('node:path');
const { after, test } = require('node:test');

const bin = (name) => join(__dirname, 'node_modules', name);
const tool = (name) => bin(`.bin/${name}`);
const runtimes = {
  'Node 20 or the one here': [process.execPath],
  ...Object.fromEntries([21, 22, 23, 24].map((version) => [`Node ${version}`, [bin(`node${version}/bin/node`)]])),
  Bun: [bin('@oven/bun-linux-x64/bin/bun')],
  Deno: [bin('@deno/linux-x64-glibc/deno'), 'run', '--allow-all', '--quiet', '--no-lock'],
};

// No credentials and no region: nothing of the machine's configuration decides.
const env = { PATH: process.env.PATH, HOME: __dirname, CI: 'true', AWS_EC2_METADATA_DISABLED: 'true', NO_UPDATE_NOTIFIER: '1' };

function run(command, args, folder = '') {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: join(__dirname, folder), env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${command} ${args.join(' ')}: ${code ?? signal}\n${output.slice(-4000)}`));
    });
  });
}

for (const [name, [command, ...args]] of Object.entries(runtimes)) {
  // Optional packages for another system are not installed.
  const skip = !existsSync(command);
  test(`${name}: import`, { skip }, () => run(command, [...args, 'main.mjs'], 'node'));
  test(`${name}: require`, { skip }, () => run(command, [...args, 'main.cjs'], 'node'));
}

test('Jest, four workers', async () => {
  assert.match(await run(tool('jest'), ['--workers=4'], 'jest'), /Tests: +22 passed/);
});
test('Jest with Babel', () => run(tool('jest'), [], 'jest-babel'));
test('ts-jest', () => run(tool('jest'), [], 'jest-ts'));
test('Jest with ES modules', () => run(process.execPath, ['--experimental-vm-modules', bin('jest/bin/jest.js')], 'jest-esm'));
test('Vitest', () => run(tool('vitest'), ['run', '--root', '.'], 'vitest'));

test('typescript --strict, node10', () => run(process.execPath, [bin('typescript/bin/tsc'), '--noEmit', '-p', 'jest-ts']));

for (const compiler of ['typescript50', 'typescript', 'typescript7']) {
  for (const [module, moduleResolution] of [['node16', 'node16'], ['esnext', 'bundler']]) {
    for (const extension of module === 'node16' ? ['cts', 'mts'] : ['ts']) {
      test(`${compiler} --strict, ${moduleResolution}, .${extension}`, async () => {
        const file = `types/${compiler}-${moduleResolution}.${extension}`;
        const main = readFileSync(join(__dirname, 'types/main.ts'), 'utf8');
        // `using` exists since TypeScript 5.2.
        writeFileSync(join(__dirname, file), compiler === 'typescript50' ? main.replaceAll('  using ', '  const ') : main);
        const options = ['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2022', '--types', 'node'];
        const how = ['--module', module, '--moduleResolution', moduleResolution];
        await run(process.execPath, [bin(`${compiler}/bin/tsc`), ...options, ...how, file]);
        if (extension !== 'ts' || compiler === 'typescript50') return;
        await run(process.execPath, [bin(`${compiler}/bin/tsc`), ...options, ...how, '--skipLibCheck', 'types/vitest.ts']);
      });
    }
  }
}

async function serving(words, use) {
  const server = spawn(tool('dynatwin'), words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    const line = await new Promise((resolve, reject) => {
      let output = '';
      const add = (data) => {
        output += data;
        if (/http:\S+:\d+/.test(output)) resolve(output);
      };
      server.stdout.on('data', add);
      server.stderr.on('data', add);
      server.once('exit', (code) => reject(new Error(`dynatwin ended with ${code}: ${output}`)));
    });
    await use(/http:\S+:\d+/.exec(line)[0], line);
  } finally {
    server.kill();
  }
}

test('npx dynatwin, for the second version of the SDK', () =>
  serving(['--port', '0'], async (url, line) => {
    assert.match(line, /WebAssembly/);
    await run(process.execPath, ['main.js', url], 'sdk-v2');
  }));

test('npx dynatwin starts the native server where it is installed', async () => {
  const system = join(__dirname, 'node_modules/@dynatwin', `${process.platform}-${process.arch}`);
  mkdirSync(join(system, '..'), { recursive: true });
  cpSync(join(__dirname, 'native'), system, { recursive: true });
  try {
    await serving(['--port', '0'], async (url, line) => {
      assert.doesNotMatch(line, /WebAssembly/);
      await run(process.execPath, ['main.js', url], 'sdk-v2');
    });
    await assert.rejects(run(tool('dynatwin'), ['--prot', '1']), /--prot is not a flag; --help lists them/);
  } finally {
    rmSync(system, { recursive: true });
  }
});

for (const file of ['before.js', 'after.js']) {
  test(`a project that moves from dynalite: ${file}`, () => run(process.execPath, [file], 'dynalite'));
}

test('npx dynatwin refuses unknown flags', async () => {
  await assert.rejects(run(tool('dynatwin'), ['--prot', '1']), /2\n--prot is not a flag; --help lists them/);
});

// Pages, in Chromium.
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };
let browser;
after(() => browser?.close());

async function title(folder) {
  const { chromium } = require('playwright-core');
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  browser ??= await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  const server = createServer(({ url }, response) => {
    const file = join(folder, url === '/' ? 'index.html' : url);
    if (!existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'text/plain' }).end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.waitForFunction(() => document.title !== '');
    return await page.title();
  } finally {
    server.close();
  }
}

function output(name) {
  const folder = join(__dirname, 'out', name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'index.html'), '<!doctype html><script type="module" src="./page.js"></script>');
  return folder;
}

test('esbuild: a page with the module beside it', async () => {
  const folder = output('esbuild');
  await require('esbuild').build({ entryPoints: ['bundles/page.mjs'], absWorkingDir: __dirname, bundle: true, format: 'esm', outfile: join(folder, 'assets/page.js') });
  writeFileSync(join(folder, 'index.html'), '<!doctype html><script type="module" src="./assets/page.js"></script>');
  cpSync(require.resolve('dynatwin/dynatwin.wasm'), join(folder, 'dynatwin.wasm'));
  assert.equal(await title(folder), '0 tables');
});

test('esbuild: a page with the module inside', async () => {
  const folder = output('embedded');
  await require('esbuild').build({ entryPoints: ['bundles/embedded.mjs'], absWorkingDir: __dirname, bundle: true, format: 'esm', loader: { '.wasm': 'binary' }, outfile: join(folder, 'page.js') });
  assert.equal(await title(folder), '0 tables');
});

for (const format of ['esm', 'cjs']) {
  test(`esbuild: a program for Node, ${format}`, async () => {
    const outfile = join(output(`program-${format}`), `main.${format === 'esm' ? 'mjs' : 'cjs'}`);
    const banner = { js: format === 'esm' ? "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" : '' };
    const entry = format === 'esm' ? 'node/main.mjs' : 'node/main.cjs';
    await require('esbuild').build({ entryPoints: [entry], absWorkingDir: __dirname, bundle: true, platform: 'node', format, banner, outfile });
    await run(process.execPath, [outfile]);
  });
}

test('esbuild: a program that is moved away, with the module inside', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dynatwin-'));
  try {
    const outfile = join(folder, 'main.cjs');
    await require('esbuild').build({ entryPoints: ['bundles/program.mjs'], absWorkingDir: __dirname, bundle: true, platform: 'node', target: 'node20', format: 'cjs', loader: { '.wasm': 'binary' }, outfile, logOverride: { 'empty-import-meta': 'silent' } });
    assert.equal(await run(process.execPath, [outfile]), '0 tables\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const webpack = (config) =>
  new Promise((resolve, reject) => {
    require('webpack')({ mode: 'production', context: __dirname, ...config }, (error, stats) => {
      if (error ?? stats.hasErrors()) reject(error ?? new Error(stats.toString()));
      else resolve();
    });
  });

test('webpack: a page', async () => {
  const folder = output('webpack');
  await webpack({ entry: './bundles/page.mjs', output: { path: folder, filename: 'page.js' } });
  assert.equal(await title(folder), '0 tables');
});

test('webpack: a program for Node', async () => {
  const folder = output('webpack-node');
  await webpack({ target: 'node', entry: './node/main.cjs', output: { path: folder, filename: 'main.cjs' } });
  await run(process.execPath, [join(folder, 'main.cjs')]);
});

test('Vite: a page', async () => {
  const root = output('vite');
  cpSync(join(__dirname, 'bundles/page.mjs'), join(root, 'page.js'));
  const { build } = await import('vite');
  await build({ root, logLevel: 'error' });
  assert.equal(await title(join(root, 'dist')), '0 tables');
});

test('Vite: its development server', async () => {
  const root = output('vite-server');
  cpSync(join(__dirname, 'bundles/page.mjs'), join(root, 'page.js'));
  const { createServer } = await import('vite');
  const server = await createServer({ root, logLevel: 'error', server: { port: 0, host: '127.0.0.1' }, optimizeDeps: { exclude: ['dynatwin'] } });
  await server.listen();
  try {
    const { chromium } = require('playwright-core');
    browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
    const page = await browser.newPage();
    await page.goto(server.resolvedUrls.local[0]);
    await page.waitForFunction(() => document.title !== '');
    assert.equal(await page.title(), '0 tables');
  } finally {
    await server.close();
  }
});

test('workerd', async () => {
  const folder = output('workerd');
  await require('esbuild').build({
    entryPoints: ['workerd/worker.mjs'], absWorkingDir: __dirname, bundle: true, format: 'esm', outdir: folder,
    conditions: ['workerd', 'worker', 'browser'], loader: { '.wasm': 'copy' }, outExtension: { '.js': '.mjs' },
  });
  const script = `
    const { Miniflare } = require('miniflare');
    const worker = new Miniflare({
      modules: true, modulesRules: [{ type: 'CompiledWasm', include: ['**/*.wasm'] }],
      rootPath: ${JSON.stringify(folder)}, scriptPath: 'worker.mjs', compatibilityDate: '2026-01-01',
    });
    worker.dispatchFetch('http://localhost/').then(async (response) => {
      const text = await response.text();
      await worker.dispose();
      if (text !== '[]') { console.error(text); process.exit(1); }
    });`;
  // Miniflare needs a later Node than the package does.
  await run(existsSync(bin('node22/bin/node')) ? bin('node22/bin/node') : process.execPath, ['-e', script]);
});

// The blocks of the package's README, each used as the comment before it defines: run by a runner, or a file that others import.
test('README', async (t) => {
  const folder = output('readme');
  writeFileSync(join(folder, 'jest.config.js'), 'module.exports = {};');
  const runs = {
    node: (file) => run(process.execPath, [file], 'out/readme'),
    jest: (file) => run(tool('jest'), ['--runTestsByPath', file], 'out/readme'),
    vitest: (file) => run(tool('vitest'), ['run', '--root', '.', file], 'out/readme'),
  };
  const endings = { node: 'mjs', jest: 'test.js', vitest: 'test.mjs' };
  const blocks = readFileSync(bin('dynatwin/README.md'), 'utf8').matchAll(/(?:<!-- (run|file): (\S+) -->\n)?```(js|ts)\n(.*?)```/gs);
  let number = 0;
  for (const [, what, value, , text] of blocks) {
    number += 1;
    if (what === 'file') {
      writeFileSync(join(folder, value), text);
      continue;
    }
    assert.ok(value in runs, `block ${number} of the README names its runner`);
    const file = `block${number}.${endings[value]}`;
    writeFileSync(join(folder, file), text);
    await t.test(`README, block ${number}: ${value}`, () => runs[value](file));
  }
  assert.ok(number > 5);
});
