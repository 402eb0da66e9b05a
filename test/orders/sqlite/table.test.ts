import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createSqliteOrderStore, type SqliteValue } from 'store-orders/sqlite';
import { DATE_TIMES, isValid, QUANTITIES, STATUSES } from '../support/written-values.js';
import { sqliteDrivers } from './support/drivers.js';

/** For each rule of the table: its column, values on both sides of it, and which of them it accepts. */
const RULES: Readonly<Record<string, readonly [string, fc.Arbitrary<SqliteValue>, (value: SqliteValue) => boolean]>> = {
  order_quantity_is_a_safe_integer: ['quantity', QUANTITIES, (quantity) => isValid({ quantity })],
  order_ship_date_is_rfc_3339: ['ship_date', DATE_TIMES, (shipDate) => isValid({ shipDate })],
  order_complete_is_0_or_1: ['complete', fc.constantFrom(-1n, 0n, 1n, 2n), (value) => value === 0n || value === 1n],
  order_status_is_a_word: ['status', STATUSES, (status) => isValid({ status })],
};

for (const { name, open } of sqliteDrivers) {
  for (const [rule, [column, values, accepts]] of Object.entries(RULES)) {
    test(`under ${name}, SQL can store each ${column} that an import accepts, and no other`, () => {
      const database = open(':memory:');
      createSqliteOrderStore(database);
      database.exec("INSERT INTO orders (id, status) VALUES (1, 'pending')");
      const update = database.prepare(`UPDATE orders SET ${column} = ?`);
      // @photostructure/sqlite stores a text only up to a NUL.
      const { bytes } = Object(database.prepare('SELECT length(CAST(? AS BLOB)) AS bytes').get('a\0'));
      fc.assert(
        fc.property(values, (value) => {
          if (Number(bytes) === 1 && String(value).includes('\0')) return;
          if (accepts(value)) update.run(value);
          else assert.throws(() => update.run(value), new RegExp(rule), JSON.stringify(String(value)));
        }),
        { numRuns: 1_500 },
      );
      database.close();
    });
  }
}
