// Packs the package for a release: `node pack.js FOLDER`. The tarball names the packages with native servers, which a release
// publishes with it, as optional dependencies.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const SYSTEMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'];

const folder = resolve(process.argv[2]);
const stage = mkdtempSync(join(tmpdir(), 'dynatwin-pack-'));
try {
  for (const name of ['README.md', 'dist']) cpSync(join(import.meta.dirname, name), join(stage, name), { recursive: true });
  const description = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'));
  const { devDependencies: _, scripts: __, ...published } = description;
  published.optionalDependencies = Object.fromEntries(SYSTEMS.map((system) => [`@dynatwin/${system}`, description.version]));
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: stage, stdio: 'inherit' });
} finally {
  rmSync(stage, { recursive: true });
}
