import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryOrderStore } from 'store-orders';
import { findViolations } from './support/browser.js';
import { DESKTOP, suiteInBrowser } from './support/opened-page.js';

const ORDERS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 9007199254740993n].map((id) => ({
  ...{ id, petId: 101, quantity: 40, shipDate: '2030-04-11T12:00:00.500Z' },
}));

/** The colours change what axe finds, but not where the text is. So only some widths are tested in both. */
const VIEWS = [
  [320, 640, 'light'],
  [320, 640, 'dark'],
  [390, 844, 'light'],
  [768, 1_024, 'dark'],
  [1_280, 900, 'light'],
  [1_280, 900, 'dark'],
  [1_920, 1_080, 'light'],
] as const;

suiteInBrowser('how the documentation page looks', (openPage) => {
  for (const [index, [width, height, colorScheme]] of VIEWS.entries()) {
    const isFirst = index === 0;
    test(`at ${width} pixels, ${colorScheme}: axe finds no accessibility violation, and no text is cut off`, async (t) => {
      const { page, cancel } = await openPage(t, { ...DESKTOP, viewport: { width, height }, colorScheme });
      if (isFirst) assert.deepEqual(await findViolations(page), [], 'axe finds no violation before a request');
      await page.locator('#key').fill('key-1');
      await page.keyboard.press('Enter');
      await page.locator('#response details').first().waitFor();
      const inView = await page.evaluate<boolean>(
        "(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(document.querySelector('#response .status').getBoundingClientRect())",
      );
      assert.ok(inView, 'the response is visible');
      await cancel('1');
      await page.locator('.refusal').waitFor();
      await page.locator('[aria-label="Cancel order 9007199254740993"]').click();
      if (isFirst) assert.deepEqual(await findViolations(page), [], 'axe finds no violation in the dialog');
      await page.locator('#confirm button[value=keep]').click();
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

    test(`at ${width} pixels, ${colorScheme}: all of ten orders are visible, sending shows the first of them below the key and the button, and no sample is clipped`, async (t) => {
      const store = createMemoryOrderStore(ORDERS);
      const view = { ...DESKTOP, viewport: { width, height }, colorScheme };
      const { page, list } = await openPage(t, view, store.list);
      await page.locator('#key').fill('key-1');
      await page.locator('#list').focus();
      await list('key-1');
      const [outside, hidden, clipped] = await page.evaluate<readonly [string[], number, string[]]>(`[
        ['#key', '#list', '#quota', '#response .status', '.orders tbody tr'].filter((selector) => {
          const { top, bottom } = document.querySelector(selector).getBoundingClientRect();
          return top < 0 || bottom > innerHeight;
        }),
        (({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelector('.scroller')),
        Array.from(document.querySelectorAll('main .code pre'))
          .filter((sample) => sample.checkVisibility() && sample.scrollHeight > sample.clientHeight)
          .map(({ ariaLabel }) => ariaLabel),
      ]`);
      assert.deepEqual([outside, hidden, clipped], [[], 0, []]);
      assert.equal(await page.locator('.orders tbody tr').count(), 10);
      assert.equal(await page.locator('.orders tbody tr:last-child .id').innerText(), '9007199254740993');
      const blank = await page.evaluate<string[]>(`Array.from(document.querySelectorAll('main > section'))
        .filter((section) => Array.from(section.querySelectorAll('.code'))
          .some((code) => code.clientWidth < section.clientWidth - 2)).map(({ id }) => id)`);
      assert.deepEqual(blank, [], 'no column is blank beside a sample');
    });
  }
});
