// Packs the package and installs the tarball into a clean copy of the samples: `node prepare.js FOLDER BINARY`. The binary, a
// native server, goes into the package for this system, which is not installed yet.
const { execFileSync } = require('node:child_process');
const { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } = require('node:fs');
const { join, resolve } = require('node:path');

const target = resolve(process.argv[2]);
const npm = (cwd, ...args) => execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd, encoding: 'utf8' });
const read = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);

mkdirSync(target, { recursive: true });
const lock = read(join(__dirname, 'package-lock.json'));
const isInstalled = read(join(target, 'package-lock.json')) === lock && existsSync(join(target, 'node_modules'));
for (const name of readdirSync(target)) if (name !== 'node_modules') rmSync(join(target, name), { recursive: true });
cpSync(__dirname, target, { recursive: true, filter: (file) => file !== join(__dirname, 'node_modules') });
// Not `npm ci`, which refuses a lock file without the packages of other systems.
if (!isInstalled) npm(target, 'install', '--no-save', '--ignore-scripts');
rmSync(join(target, 'node_modules/dynatwin'), { recursive: true, force: true });
const tarball = JSON.parse(npm(join(__dirname, '..'), 'pack', '--json', '--pack-destination', target))[0].filename;
npm(target, 'install', '--no-save', '--ignore-scripts', `./${tarball}`);
execFileSync('node', [join(__dirname, '../platform.js'), resolve(process.argv[3]), join(target, 'native')]);
