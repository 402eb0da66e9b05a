import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { without } from '../../../support/installed.js';
import { temporaryDirectory } from '../../../support/temporary-file.js';
import type { Page } from '../support/browser.js';
import { suiteInBrowser } from '../support/opened-page.js';

const ID = 9007199254740993n;

async function copySample(page: Page, operation: 'listOrders' | 'cancelOrder', language: string): Promise<string> {
  await page.locator(`#${operation} label:text-is("${language}")`).click();
  await page.locator(`#${operation} .copy[aria-label="Copy: the request"]`).click();
  await page.locator('#announcement:text("Copied")').waitFor();
  return page.evaluate<string>('navigator.clipboard.readText()');
}

/** The command that runs the sample of a language. The last parameter is the sample's file. */
const PROGRAMS: Readonly<Record<string, readonly [program: string, ...parameters: string[]]>> = {
  curl: ['sh', 'sample.sh'],
  JavaScript: [process.execPath, 'sample.mjs'],
  Python: ['python3', 'sample.py'],
};

suiteInBrowser('the request samples of the documentation page', (openPage) => {
  for (const [language, [program, ...parameters]] of Object.entries(PROGRAMS)) {
    const skip = without(program);
    test(`a copied sample lists and cancels orders with exact ids: ${language}`, { skip }, async (t) => {
      const { page, store } = await openPage(t);
      const cwd = temporaryDirectory();
      const file = join(cwd, parameters.at(-1) ?? '');
      const run = async (sample: string) => {
        writeFileSync(file, sample);
        const env = { ...process.env, API_KEY: 'key-1' };
        const { stdout, stderr } = await promisify(execFile)(program, parameters, { cwd, env });
        return stdout + stderr;
      };
      assert.match(await run(await copySample(page, 'listOrders', language)), /\b9007199254740993\b/);
      const cancel = await copySample(page, 'cancelOrder', language);
      assert.match(await run(cancel), /\b204\b/);
      assert.deepEqual([store.get(ID - 1n)?.status, store.get(ID)?.status], ['pending', 'cancelled']);
    });
  }

  test('a language chosen for the sample of one operation, even by keyboard, applies to the samples of both operations', async (t) => {
    const { page } = await openPage(t);
    await page.locator('#listOrders label:text-is("curl")').click();
    await page.keyboard.press('ArrowRight');
    for (const operation of ['listOrders', 'cancelOrder']) {
      const shown = await page.evaluate<string[]>(
        `Array.from(document.querySelectorAll('#${operation} [data-language]')).filter((sample) => sample.checkVisibility()).map((sample) => sample.dataset.language)`,
      );
      assert.deepEqual(shown, ['JavaScript']);
    }
  });
});
