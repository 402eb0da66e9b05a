import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Checks that a text that users or their tools read is the file of this name in `test/snapshots`, so
 * that a review sees every change of it. With `STORE_ORDERS_UPDATE=1`, writes the file first.
 */
export function checkSnapshot(name: string, text: string): void {
  const file = new URL(`../snapshots/${name}`, import.meta.url);
  if (process.env['STORE_ORDERS_UPDATE'] === '1') writeFileSync(file, text);
  const advice = `test/snapshots/${name} differs; if that is intended, set STORE_ORDERS_UPDATE=1, run this test again and have the difference reviewed`;
  assert.equal(text, readFileSync(file, 'utf8'), advice);
}
