// Takes the README's picture of the playground: docs/playground.png.
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { browser, runAll } from './browser.js';

const folder = fileURLToPath(new URL('../../docs', import.meta.url));
mkdirSync(folder, { recursive: true });
const chromium = await browser();
try {
  const page = await chromium.open({ viewport: { width: 1280, height: 1000 } });
  const word = await runAll(page);
  if (!word.startsWith('All')) throw new Error(word);
  await page.getByRole('button', { name: 'Push the clock one day forward' }).click();
  await page.screenshot({ path: `${folder}/playground.png` });
} finally {
  await chromium.close();
}
