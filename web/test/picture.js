// Takes the README's pictures of the playground: docs/playground.png, and docs/playground.gif if ImageMagick is there.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { browser } from './browser.js';

const FRAMES = 18;
const folder = fileURLToPath(new URL('../../docs', import.meta.url));
mkdirSync(folder, { recursive: true });
const frames = mkdtempSync(join(tmpdir(), 'dynatwin-frames-'));
const chromium = await browser();
try {
  const page = await chromium.open({ viewport: { width: 1440, height: 900 }, motion: 'no-preference' });
  await page.locator('.requests [data-failed="true"]').first().waitFor({ timeout: 60_000 });
  for (let frame = 0; frame < FRAMES; frame += 1) {
    const path = join(frames, `${String(frame).padStart(3, '0')}.png`);
    await page.screenshot({ path });
    await page.waitForTimeout(100);
  }
  await page.screenshot({ path: join(folder, 'playground.png') });
  await page.context().close();
  const made = join(folder, 'playground.gif');
  execFileSync(process.env.CONVERT ?? 'convert', ['-delay', '25', '-loop', '0', join(frames, '*.png'), '-resize', '800x', '+dither', '-colors', '64', '-layers', 'OptimizePlus', made]);
} catch (error) {
  if (error.code !== 'ENOENT') throw error;
  console.log('There is no ImageMagick: docs/playground.gif stays as it was.');
} finally {
  await chromium.close();
  rmSync(frames, { recursive: true, force: true });
}
