import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createSqliteOrderStore, type SqliteValue } from 'store-orders/sqlite';
import { parseOrderRecord } from 'store-orders/store';
import { sqliteDrivers } from './support/drivers.js';

const twoDigits = (max: number) => fc.nat(max).map((number) => String(number).padStart(2, '0'));

/** Texts, each with some parts replaced, inserted or removed. */
function changed(texts: readonly string[], parts: readonly string[]): fc.Arbitrary<string> {
  const change = fc.record({ at: fc.nat(65), removes: fc.nat(2), part: fc.constantFrom('', ...parts) });
  return fc.tuple(fc.constantFrom(...texts), fc.array(change, { maxLength: 3 })).map(([text, changes]) =>
    changes.reduce((changing, { at, removes, part }) => {
      return changing.slice(0, at) + part + changing.slice(at + removes);
    }, text),
  );
}

const DATE_TIMES = fc.oneof(
  fc
    .record({
      year: fc.constantFrom('0000', '0400', '1900', '2000', '2023', '2024'),
      day: fc.oneof(fc.constant(['02', '29']), fc.tuple(twoDigits(13), twoDigits(32))),
      time: fc.oneof(fc.constant(['23', '59', '60']), fc.tuple(twoDigits(24), twoDigits(60), twoDigits(60))),
      decimals: fc.constantFrom('', '', '.', '.5', `.${'1'.repeat(38)}`, `.${'1'.repeat(39)}`),
      zone: fc.constantFrom('Z', 'Z', 'z', '', '+23:59', '-24:00', '+00:60'),
    })
    .map(({ year, day, time, decimals, zone }) => `${year}-${day.join('-')}T${time.join(':')}${decimals}${zone}`),
  changed(
    ['2024-02-29T23:59:60Z', '2023-12-31t00:00:00.1234567890z', '1900-02-28T12:30:59.5-23:59'],
    [...'0123456789TtZz:.+- \0é٣', '60', '24', '+00:00'],
  ),
);

/** For each rule of the table: its column, values on both sides of it, and which of them it accepts. */
const RULES: Readonly<Record<string, readonly [string, fc.Arbitrary<SqliteValue>, (value: SqliteValue) => boolean]>> = {
  order_quantity_is_a_safe_integer: [
    'quantity',
    fc.constantFrom(...[2n ** 53n - 1n, 2n ** 53n, 2n ** 62n].flatMap((quantity) => [quantity, -quantity])),
    (quantity) => isValid({ quantity }),
  ],
  order_ship_date_is_rfc_3339: ['ship_date', DATE_TIMES, (shipDate) => isValid({ shipDate })],
  order_complete_is_0_or_1: ['complete', fc.constantFrom(-1n, 0n, 1n, 2n), (value) => value === 0n || value === 1n],
  order_status_is_a_word: [
    'status',
    changed(['pending', 'a', 'on_hold', 'a'.repeat(64)], [...'azAZ09_- \0é', 'a'.repeat(63)]),
    (status) => isValid({ status }),
  ],
};

function isValid(fields: object): boolean {
  return !('mistake' in parseOrderRecord({ id: 1n, ...fields }));
}

for (const { name, open } of sqliteDrivers) {
  for (const [rule, [column, values, accepts]] of Object.entries(RULES)) {
    test(`under ${name}, SQL can store each ${column} that an import accepts, and no other`, () => {
      const database = open(':memory:');
      createSqliteOrderStore(database);
      database.exec("INSERT INTO orders (id, status) VALUES (1, 'pending')");
      const update = database.prepare(`UPDATE orders SET ${column} = ?`);
      fc.assert(
        fc.property(values, (value) => {
          if (accepts(value)) update.run(value);
          else assert.throws(() => update.run(value), new RegExp(rule), JSON.stringify(String(value)));
        }),
        { numRuns: 1_500 },
      );
      database.close();
    });
  }
}
