import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { createSqliteOrderStore, type SqliteDatabase } from 'store-orders/sqlite';
import { readRecords } from '../../../dist/orders/sqlite/list.js';
import { ORDERS_SCHEMA } from '../../../dist/orders/sqlite/table.js';
import { temporaryFile } from '../../support/temporary-file.js';
import { sqliteDrivers } from './support/drivers.js';
import { once, wrapDatabase } from './support/wrapped-database.js';

/** Returns a column of the first row as text, because some drivers read a number and others a bigint. */
function ask(database: SqliteDatabase, sql: string, column: string): string {
  const row = database.prepare(sql).get();
  assert.ok(typeof row === 'object' && row !== null);
  return String(Reflect.get(row, column));
}

for (const { name, open } of sqliteDrivers) {
  describe(`a SQLite file under ${name}`, () => {
    test('the store turns on a write-ahead log before it creates tables, and an fsync per commit, whatever settings the connection had', () => {
      const database = open(temporaryFile());
      const modes: string[] = [];
      const watched = wrapDatabase(database, {
        exec(sql, proceed) {
          if (sql.startsWith('CREATE TABLE')) modes.push(ask(database, 'PRAGMA journal_mode', 'journal_mode'));
          return proceed();
        },
      });
      for (const _ of ['a new file', 'a file with tables']) {
        database.exec('PRAGMA synchronous = OFF');
        createSqliteOrderStore(watched);
        assert.equal(ask(database, 'PRAGMA synchronous', 'synchronous'), '2');
      }
      // A process that is killed while it creates tables would otherwise leave a journal, which
      // empties a copied file.
      assert.deepEqual(new Set(modes), new Set(['wal']));
    });

    for (const [setting, found] of [
      ['PRAGMA synchronous = FULL', 'journal_mode=wal, synchronous=0'],
      ['PRAGMA journal_mode = WAL', 'journal_mode=delete, synchronous=2'],
    ] as const) {
      test(`the file is refused if SQLite does not accept ${setting}, because writes would not be durable`, () => {
        const database = open(temporaryFile());
        database.exec('PRAGMA synchronous = OFF');
        const deaf = wrapDatabase(database, { exec: (sql) => database.exec(sql.replace(setting, '')) });
        const message = `SQLite reports ${found} instead of wal, 2 (FULL); put the file on a local file system`;
        assert.throws(() => createSqliteOrderStore(deaf), { name: 'Error', message });
      });
    }

    test('a file that is not a database, or that holds tables of another program, is rejected and left unchanged', () => {
      const [text, foreign] = [temporaryFile(), temporaryFile()];
      writeFileSync(text, 'orders, but as text. '.repeat(100));
      const database = open(foreign);
      database.exec('CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)');
      database.close();
      for (const [file, message] of [
        [
          text,
          'the file is not a SQLite database; name another file, or move this one away and restore a backup with db restore',
        ],
        [foreign, 'the file is not an order database, because it holds other tables; use a separate file'],
      ] as const) {
        const before = readFileSync(file);
        const refused = open(file);
        assert.throws(() => createSqliteOrderStore(refused), { name: 'Error', message });
        refused.close();
        assert.ok(readFileSync(file).equals(before));
      }
    });

    test('a store lists its own puts immediately, the changes of another connection or program after a tenth of a second, and the same array until the next change', async (t) => {
      let nowMs = 10_000;
      t.mock.method(performance, 'now', () => nowMs);
      const file = temporaryFile();
      const [here, there] = [open(file), open(file)];
      const [store, other] = [createSqliteOrderStore(here), createSqliteOrderStore(there)];
      const before = store.list();
      await other.put([{ id: 1n }, { id: 2n }]);
      nowMs += 99;
      assert.equal(store.list(), before);
      nowMs += 1;
      const after = store.list();
      assert.deepEqual([before, after], [[], [{ id: 1n }, { id: 2n }]]);
      assert.deepEqual(other.list(), after);
      assert.equal(await other.cancel(1n), 'cancelled');
      nowMs += 100;
      assert.equal(store.list(), after);
      for (const [sql, listed] of [
        ["INSERT INTO orders (id, status) VALUES (3, 'pending')", [{ id: 1n }, { id: 2n }, { id: 3n }]],
        ['UPDATE orders SET pet_id = 7 WHERE id = 2', [{ id: 1n }, { id: 2n, petId: 7n }, { id: 3n }]],
        ['DELETE FROM orders WHERE id = 1', [{ id: 2n, petId: 7n }, { id: 3n }]],
        ["INSERT OR REPLACE INTO orders (id, status) VALUES (2, 'pending')", [{ id: 2n }, { id: 3n }]],
        ['UPDATE orders SET rowid = 4 WHERE id = 3', [{ id: 2n }, { id: 4n }]],
        // As after a tool that recreates the table without its triggers
        ['DROP TRIGGER orders_deleted; DELETE FROM orders WHERE id = 4', [{ id: 2n }]],
        ['DELETE FROM orders', []],
      ] as const) {
        there.exec(sql);
        nowMs += 100;
        assert.deepEqual(store.list(), listed, sql);
      }
      // An open transaction would prevent SQLite from emptying the write-ahead log.
      assert.equal(ask(there, 'PRAGMA wal_checkpoint(TRUNCATE)', 'busy'), '0');
    });

    test('if the orders cannot be read after a put, list throws instead of returning the earlier list', async () => {
      const database = open(temporaryFile());
      const store = createSqliteOrderStore(database);
      await store.put([{ id: 1n }]);
      store.list();
      await store.put([{ id: 2n }]);
      database.exec('ALTER TABLE orders RENAME TO gone');
      for (let time = 0; time < 2; time++) assert.throws(() => store.list(), /no such table/);
      database.exec('ALTER TABLE gone RENAME TO orders');
      assert.deepEqual(store.list(), [{ id: 1n }, { id: 2n }]);
    });

    test('an older program that found the file empty does not overwrite the tables that a newer one created meanwhile', () => {
      const [file, newer] = [temporaryFile(), "UPDATE store_orders_versions SET version = 99 WHERE part = 'orders'"];
      const [here, there] = [open(file), open(file)];
      const arriving = wrapDatabase(
        here,
        once('BEGIN IMMEDIATE', 'before', () => {
          createSqliteOrderStore(there);
          there.exec(newer);
        }),
      );
      assert.throws(() => createSqliteOrderStore(arriving), {
        message: `the orders schema has version 99, but this program knows only versions up to ${ORDERS_SCHEMA['orders']?.length}; use a newer store-orders`,
      });
      assert.equal(ask(there, 'SELECT version FROM store_orders_versions', 'version'), '99');
    });
  });
}

test('a damaged file whose orders are not sorted by id is not read for ever', () => {
  const executed: string[] = [];
  const statement = { run() {}, get() {}, all: () => [{ id: 5n, status: 'pending' }], setReadBigInts() {} };
  const pages = readRecords({ exec: (sql) => executed.push(sql), prepare: () => statement, close() {} });
  assert.deepEqual(pages.next().value, [{ id: 5n, status: 'pending' }]);
  const message = 'the orders are not sorted by id, so the file is damaged; run db check';
  assert.throws(() => pages.next(), { name: 'Error', message });
  assert.deepEqual(executed, ['BEGIN', 'ROLLBACK']);
});

test('a driver that cannot read int64 exactly is rejected', () => {
  const rounding: SqliteDatabase = { exec() {}, prepare: () => ({ run() {}, get() {}, all: () => [] }), close() {} };
  assert.throws(() => createSqliteOrderStore(rounding), {
    name: 'TypeError',
    message: 'database: this SQLite driver cannot read int64 exactly; use node:sqlite, better-sqlite3 or libsql',
  });
});
