import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type Browser, type ContextOptions, findViolations, launch, withoutBrowser } from './support/browser.js';
import { DESKTOP, openPage } from './support/opened-page.js';

const SIZES = [
  { width: 320, height: 640 },
  { width: 768, height: 1_024 },
  { width: 1_280, height: 900 },
  { width: 1_920, height: 1_080 },
];

let browser: Browser;

suite('how the documentation page looks', { skip: withoutBrowser }, () => {
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  for (const viewport of SIZES) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const isFirst = viewport === SIZES[0] && colorScheme === 'light';
      const options: ContextOptions = { ...DESKTOP, viewport, colorScheme };
      test(`at ${viewport.width} pixels, ${colorScheme}: axe finds no accessibility violation, and no text is cut off`, async (t) => {
        const { page } = await openPage(t, browser, options);
        if (isFirst) assert.deepEqual(await findViolations(page), [], 'axe finds no violation before a request');
        await page.locator('#key').fill('key-1');
        await page.keyboard.press('Enter');
        await page.locator('#answer details').first().waitFor();
        const inView = await page.evaluate<boolean>(
          "(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(document.querySelector('#answer .status').getBoundingClientRect())",
        );
        assert.ok(inView, 'the response is visible');
        await page.locator('[aria-label="Cancel order 1"]').click();
        if (isFirst) assert.deepEqual(await findViolations(page), [], 'axe finds no violation in the dialog');
        await page.locator('#confirm button[value=cancel]').click();
        await page.locator('.refusal').waitFor();
        await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
        assert.deepEqual(await findViolations(page), [], 'with everything open');
        const width = await page.evaluate<number>('document.documentElement.scrollWidth');
        assert.ok(width <= viewport.width, `no sideways scroll: ${width}`);
        const [cut = [], lines = []] = await page.evaluate<(string | number)[][]>(`[
          Array.from(document.querySelectorAll('.orders :is(th, td)'))
            .filter((cell) => cell.offsetParent && cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.outerHTML),
          Array.from(document.querySelectorAll('.orders .shipDate'), (cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return new Set(Array.from(range.getClientRects(), ({ top }) => top)).size;
          }).filter((count) => count > 1),
        ]`);
        assert.deepEqual([cut, lines], [[], []], 'no table cell is cut off, and each date is on one line');
      });
    }
  }
});
