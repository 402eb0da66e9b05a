import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { startServer } from '../support/program.js';
import { launch, withoutBrowser } from './support/browser.js';
import { DESKTOP } from './support/opened-page.js';

// `STORE_ORDERS_UPDATE=1 npm run test:proofs -- server/docs/screenshot` replaces this file.
const FILE = fileURLToPath(new URL('../../../src/server/docs/screenshot.png', import.meta.url));
const VIEWPORT = { width: 1_280, height: 800 };

/**
 * Takes a screenshot of the list of sample orders, of which one cannot be cancelled.
 */
async function takeScreenshot(t: TestContext): Promise<void> {
  const { url, stderr } = await startServer(t, { cwd: temporaryDirectory() }, '--db', ':memory:');
  const [, key = ''] = /^ +free +(\S+)$/m.exec(stderr()) ?? [];
  const browser = await launch();
  t.after(() => browser.close());
  const page = await (await browser.newContext({ ...DESKTOP, viewport: VIEWPORT })).newPage();
  await page.clock.install();
  await page.goto(new URL('/docs', url).href);
  await page.locator('#key').fill(key);
  await page.locator('#list').click();
  await page.locator('#answer details').first().waitFor();
  await page.locator('[aria-label="Cancel order 2"]').click();
  await page.locator('#confirm button[value=cancel]').click();
  await page.locator('.refusal').waitFor();
  await page.evaluate(`
    for (const base of document.querySelectorAll('[data-fill=base]')) base.textContent = 'http://127.0.0.1:8080/v1';
    scrollTo(0, 0);
    document.activeElement.blur();
  `);
  await page.clock.runFor(1_000);
  await page.screenshot({ path: FILE });
}

test('the screenshot of the documentation page is small enough for a README', { skip: withoutBrowser }, async (t) => {
  if (process.env['STORE_ORDERS_UPDATE'] === '1') await takeScreenshot(t);
  const file = readFileSync(FILE);
  assert.deepEqual([file.readUInt32BE(16), file.readUInt32BE(20)], [VIEWPORT.width, VIEWPORT.height]);
  assert.ok(file.length < 150_000, `${file.length} bytes`);
});
