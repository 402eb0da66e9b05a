import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkContents, withUnmigratedFile } from '../../../dist/program/storage/existing-file.js';
import { run } from '../../program/support/run.js';
import { ROUNDS, seededRandom } from '../../support/rounds.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { createOrderFile } from './support/order-file.js';

const FLIPS = 4 * ROUNDS;
/**
 * The highest accepted number of files that are served with a wrong value. A flipped byte can
 * change a value into another valid one only within a row, and rows take up only a part of the
 * file.
 */
const MOST_WRONG = FLIPS / 4;

// SQLite has no checksums, so a wrong byte within a value cannot be noticed. A file with a wrong
// byte anywhere else must be rejected, unless its orders are unchanged.
test(`each of ${FLIPS} database files with one flipped bit is either rejected or exported completely, with at most one order changed`, async (t) => {
  const random = seededRandom(t);
  const { cwd } = await createOrderFile(temporaryDirectory(), 500);
  const file = join(cwd, 'store-orders.db');
  const bytes = readFileSync(file);
  const sound = (await run(['orders', 'export'], { cwd })).stdout.split('\n');
  const found = { refused: 0, same: 0, wrong: 0, torn: 0 };
  for (let flip = 0; flip < FLIPS; flip++) {
    const flipped = Buffer.from(bytes);
    const at = Math.floor(random() * bytes.length);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << Math.floor(random() * 8));
    const copy = join(cwd, 'flipped.db');
    writeFileSync(copy, flipped);
    if (!isAccepted(copy)) {
      found.refused++;
    } else {
      const { code, stdout } = await run(['orders', 'export', '--db', 'flipped.db'], { cwd });
      const lines = stdout.split('\n');
      const differing = lines.filter((line, index) => line !== sound[index]).length;
      if (code !== 0) found.refused++;
      else if (differing === 0) found.same++;
      else if (lines.length === sound.length && differing === 1) found.wrong++;
      else found.torn++;
    }
    for (const suffix of ['', '-wal', '-shm']) rmSync(copy + suffix, { force: true });
  }
  t.diagnostic(JSON.stringify(found));
  assert.equal(found.torn, 0);
  assert.ok(found.wrong < MOST_WRONG);
});

/** Returns whether the file passes the check of db check, which a server also runs before it serves. */
function isAccepted(file: string): boolean {
  try {
    withUnmigratedFile(file, (opened) => checkContents(opened, file));
    return true;
  } catch (error) {
    assert.match(String(error), /flipped\.db/);
    return false;
  }
}
