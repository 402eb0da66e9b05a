import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type Browser, type ContextOptions, findViolations, launch, withoutBrowser } from './support/browser.js';
import { DESKTOP, openPage } from './support/opened-page.js';

/** The colours change what axe finds, but not where the text is. So only some widths are tested in both. */
const VIEWS = [
  [320, 640, 'light'],
  [320, 640, 'dark'],
  [768, 1_024, 'dark'],
  [1_280, 900, 'light'],
  [1_280, 900, 'dark'],
  [1_920, 1_080, 'light'],
] as const;

let browser: Browser;

suite('how the documentation page looks', { skip: withoutBrowser }, () => {
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  for (const [index, [width, height, colorScheme]] of VIEWS.entries()) {
    const isFirst = index === 0;
    const options: ContextOptions = { ...DESKTOP, viewport: { width, height }, colorScheme };
    test(`at ${width} pixels, ${colorScheme}: axe finds no accessibility violation, and no text is cut off`, async (t) => {
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
      const scrollWidth = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(scrollWidth <= width, `no sideways scroll: ${scrollWidth}`);
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
});
