// Creates the package in which `npx dynatwin` finds its native server, and packs it if a destination is given: `node
// platform.js BINARY FOLDER [PLATFORM-ARCH [DESTINATION]]`.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const [binary, folder, system = `${process.platform}-${process.arch}`, destination] = process.argv.slice(2);
const { version, license, repository, homepage, bugs, engines } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
const [os, cpu] = system.split('-');
const file = os === 'win32' ? 'dynatwin.exe' : 'dynatwin';

mkdirSync(folder, { recursive: true });
copyFileSync(binary, join(folder, file));
chmodSync(join(folder, file), 0o755);
const licences = ['LICENSE-APACHE', 'LICENSE-MIT'];
for (const name of licences) copyFileSync(new URL(`../../${name}`, import.meta.url), join(folder, name));
writeFileSync(join(folder, 'README.md'), `The server of [dynatwin](${homepage}) for ${system}. \`npx dynatwin\` of the package \`dynatwin\` starts it.\n`);
writeFileSync(
  join(folder, 'package.json'),
  `${JSON.stringify(
    {
      name: `@dynatwin/${system}`,
      version,
      description: `The dynatwin server for ${system}`,
      license,
      homepage,
      bugs,
      repository,
      engines,
      os: [os],
      cpu: [cpu],
      files: [file, ...licences],
    },
    undefined,
    2,
  )}\n`,
);
if (destination !== undefined) {
  // On Windows npm is a script.
  const shell = process.platform === 'win32';
  execFileSync('npm', ['pack', '--silent', '--pack-destination', resolve(destination)], { cwd: folder, stdio: 'inherit', shell });
}
