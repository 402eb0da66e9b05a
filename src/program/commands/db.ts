import { statSync } from 'node:fs';
import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { loadDriver } from '../../databases/sqlite/driver.js';
import { failureOf } from '../../databases/sqlite/failure.js';
import { checkNames } from '../../databases/sqlite/identity.js';
import { type CommandResult, done, failed, Misuse } from '../command-result.js';
import { printable } from '../printable.js';
import { backUp } from '../storage/backup.js';
import { checkContents, withUnmigratedFile } from '../storage/existing-file.js';
import { SCHEMAS } from '../storage/program-parts.js';
import { restore } from '../storage/restore.js';
import { type Command, type Invocation, settingOptions } from './command.js';
import { readStorageSettings } from './with-storage.js';

const FILE_OPTIONS = settingOptions(['db']);

export const dbCommands: readonly Command[] = [
  {
    name: 'db check',
    summary: 'Checks every page of the database and shows what is in it. Changes nothing.',
    options: FILE_OPTIONS,
    examples: ['db check --db shop.db'],
    run: (invocation) => withFile(invocation, check),
  },
  {
    name: 'db backup',
    summary: 'Copies the database to a new file. A server may keep running and writing.',
    operand: 'FILE',
    options: FILE_OPTIONS,
    examples: ['db backup copy.db'],
    run: (invocation) => withFile(invocation, (file) => backUp(file, invocation.operand)),
  },
  {
    name: 'db restore',
    summary: 'Replaces the database with a backup. Stop the server first. A failure leaves the database as it was.',
    operand: 'BACKUP',
    options: FILE_OPTIONS,
    examples: ['db restore copy.db'],
    run: (invocation) => withFile(invocation, (file) => restore(invocation.operand, file)),
  },
];

const NO_FILE =
  'the db commands need a SQLite file, but the settings name a PostgreSQL database; name a file with --db, or use pg_dump and pg_restore';

async function withFile(invocation: Invocation, work: (file: string) => CommandResult): Promise<CommandResult> {
  const { db: file, databaseUrl } = readStorageSettings(invocation);
  if (databaseUrl !== undefined) throw new Misuse(NO_FILE);
  try {
    // Before a file is created.
    loadDriver();
    checkNames(file);
    return work(file);
  } catch (error) {
    return failed(failureOf(error, file, 'read').message);
  }
}

/** Checks the file and counts its rows in one transaction, because a server may be writing. */
function check(file: string): CommandResult {
  return withUnmigratedFile(file, (opened) => {
    const { database, versions } = opened;
    database.exec('BEGIN');
    checkContents(opened, file);
    const report = reportOn(file, database, versions);
    return done(describeReport(report), report);
  });
}

type Report = ReturnType<typeof reportOn>;

function reportOn(file: string, database: SqliteDatabase, versions: ReadonlyMap<string, number>) {
  const queryNumber = (sql: string) => Number(Object.values(prepare(database, sql).get() ?? {})[0] ?? Number.NaN);
  const hasKeys = versions.get('program') !== 0;
  const statuses = prepare(database, 'SELECT status, count(*) AS count FROM orders GROUP BY status').all();
  return {
    file,
    orders: {
      total: queryNumber('SELECT count(*) FROM orders'),
      byStatus: Object.fromEntries(statuses.map(({ status, count }) => [String(status), Number(count)])),
    },
    keys: {
      total: hasKeys ? queryNumber('SELECT count(*) FROM keys') : 0,
      revoked: hasKeys ? queryNumber('SELECT count(revoked_at) FROM keys') : 0,
    },
    // A number that changes whenever the list of orders changes.
    revision: queryNumber('SELECT revision FROM orders_revision'),
    schema: Object.fromEntries(
      Object.entries(SCHEMAS).map(([part, { length }]) => [part, { file: versions.get(part) ?? 0, program: length }]),
    ),
    // It is "delete" for a file that this program never opened for writing, such as a backup.
    journalMode: String(prepare(database, 'PRAGMA journal_mode').get()?.['journal_mode']),
    pages: queryNumber('PRAGMA page_count'),
    freePages: queryNumber('PRAGMA freelist_count'),
    pageBytes: queryNumber('PRAGMA page_size'),
    fileBytes: statSync(file).size,
    logBytes: statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
  };
}

function describeReport(report: Report): string {
  const { orders, keys, schema } = report;
  const byStatus = Object.entries(orders.byStatus).map(([status, count]) => `${count} ${printable(status)}`);
  const versions = Object.entries(schema).map(([part, { file, program }]) =>
    file === program ? `${part} ${file}` : `${part} ${file} (this program: ${program})`,
  );
  const rows = {
    orders: `${orders.total}${byStatus.length === 0 ? '' : ': '}${byStatus.join(', ')}`,
    keys: `${keys.total}, ${keys.revoked} of them revoked`,
    revision: report.revision,
    schema: versions.join('; '),
    journal: report.journalMode,
    pages: `${report.pages} of ${report.pageBytes} bytes, ${report.freePages} of them free`,
    size: `${report.fileBytes} bytes, plus ${report.logBytes} in its -wal file`,
  };
  const lines = Object.entries(rows).map(([name, value]) => `${name.padEnd(8)}  ${value}`);
  return [`${report.file} is sound`, ...lines].join('\n');
}
