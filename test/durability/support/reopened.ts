import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { run } from '../../server/support/program.js';
import { temporaryFile } from '../../support/temporary-file.js';

/** The name of the database in every folder of these tests. */
export const DATABASE = 'orders.db';

/** A result of a cancelling process: the outcome, and the id of the order. */
export interface Answer {
  readonly outcome: string;
  readonly id: bigint;
}

let reboots = 0;
const PROGRAM_EVERY = 40;

export function answersIn(text: string): Answer[] {
  return [...text.matchAll(/^(.+) (\d+)$/gm)].map(([, outcome = '', id = '']) => ({ outcome, id: BigInt(id) }));
}

/**
 * Opens the store on the files that a power cut left. Returns the results that were lost: an order
 * was stored but is missing, or was cancelled but has another status. Asserts that the database is
 * sound.
 */
export async function lostAfterReboot(
  files: ReadonlyMap<string, Buffer>,
  answers: readonly Answer[],
): Promise<readonly Answer[]> {
  const folder = temporaryFile();
  mkdirSync(folder);
  for (const [name, contents] of files) writeFileSync(join(folder, name), contents);
  const file = join(folder, DATABASE);
  // The program compares the file and its log before SQLite opens them. It must not report that the
  // log belongs to another file.
  if (++reboots % PROGRAM_EVERY === 0) {
    assert.doesNotMatch((await run(['db', 'check', '--db', file], { cwd: folder })).stderr, /another file/);
  }
  const lost = await lostIn(file, answers);
  rmSync(folder, { recursive: true });
  return lost;
}

/**
 * Returns the acknowledged results that are missing from a database file. Asserts that the database
 * is sound.
 */
export async function lostIn(file: string, answers: readonly Answer[]): Promise<readonly Answer[]> {
  const store = openSqliteOrderStore(file);
  const database = openSqliteDatabase(file);
  const select = (sql: string): unknown => Object(database.prepare(`SELECT (${sql}) AS value`).get()).value;
  const idsOf = (sql: string) => new Set(String(select(sql)).split(','));

  assert.equal(select('SELECT integrity_check FROM pragma_integrity_check'), 'ok');
  // Each query reads all ids at once. Asking the store for each of thousands of orders would take
  // longer than everything else.
  const stored = idsOf('SELECT group_concat(id) FROM orders');
  const cancelled = idsOf("SELECT group_concat(id) FROM orders WHERE status = 'cancelled'");
  database.close();
  await store.close();
  return answers.filter(
    ({ outcome, id }) =>
      (outcome === 'stored' && !stored.has(String(id))) || (outcome === 'cancelled' && !cancelled.has(String(id))),
  );
}

/** Returns the ids of the orders that are stored as cancelled. */
export function cancelledIn(file: string): ReadonlySet<string> {
  const database = openSqliteDatabase(file);
  const rows = database.prepare("SELECT CAST(id AS TEXT) AS id FROM orders WHERE status = 'cancelled'").all();
  database.close();
  return new Set(rows.map((row) => String(Object(row).id)));
}
