// Takes the README's picture of the playground: docs/playground.png.
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { browser } from './browser.js';

const folder = fileURLToPath(new URL('../../docs', import.meta.url));
mkdirSync(folder, { recursive: true });
const chromium = await browser();
try {
  const page = await chromium.open({ viewport: { width: 1440, height: 900 }, motion: 'no-preference' });
  await page.locator('.requests li').nth(30).waitFor({ timeout: 60_000 });
  await page.screenshot({ path: `${folder}/playground.png` });
} finally {
  await chromium.close();
}
