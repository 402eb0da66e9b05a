import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { printRegions, simulateAll } from '../../examples/regions.js';

const rows = simulateAll();

for (const { name, pace, outcomes, mostDenied } of rows) {
  test(`regions, ${name}, ${pace}: the numbers of requests admitted above the quota and denied below it stay within the computed bounds`, () => {
    assert.equal(outcomes.length, 5);
    for (const { above, denied, mostAbove } of outcomes) {
      assert.ok(above <= mostAbove, `${above} admitted above the quota, expected at most ${mostAbove}`);
      assert.ok(denied <= mostDenied, `${denied} denied below the quota, expected at most ${mostDenied}`);
    }
  });
}

test('src/server/README.md has the table that examples/regions.ts prints', () => {
  const guide = readFileSync(new URL('../../src/server/README.md', import.meta.url), 'utf8');
  assert.ok(
    guide.includes(`\n${printRegions(rows)}\n`),
    'run examples/regions.ts and copy its table into src/server/README.md',
  );
});
