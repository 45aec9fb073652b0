// A real Firefox, over WebDriver BiDi.
import { existsSync } from 'node:fs';
import puppeteer from 'puppeteer-core';

const PROGRAMS = [process.env.FIREFOX, '/usr/bin/firefox-esr', '/usr/bin/firefox'];

/** A Firefox. Its pages keep console messages and errors in `trouble`; a `fresh` one has a profile of its own. */
export async function firefox() {
  const executablePath = PROGRAMS.find((program) => program && existsSync(program));
  const engine = await puppeteer.launch({ browser: 'firefox', executablePath, headless: true, defaultViewport: null, args: ['--width=1440', '--height=900'] });
  const open = async (address, { fresh = false } = {}) => {
    const page = await (fresh ? await engine.createBrowserContext() : engine).newPage();
    page.trouble = [];
    page.on('console', (message) => page.trouble.push(message.text()));
    page.on('pageerror', (error) => page.trouble.push(String(error)));
    await page.goto(address);
    return page;
  };
  return { open, close: () => engine.close() };
}

/** Waits for a condition in the page. It is evaluated repeatedly: the page's Content-Security-Policy allows no `eval`, which `waitForFunction` uses. */
export async function until(page, condition, ...words) {
  for (let turn = 0; turn < 1200; turn += 1) {
    if (await page.evaluate(condition, ...words)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`It did not come to ${condition} ${words}`);
}
