import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { SqliteDatabase } from 'store-orders/sqlite';

export interface SqliteDriver {
  readonly name: string;
  open(file: string): SqliteDatabase;
}

type DatabaseClass = new (file: string) => SqliteDatabase;

interface KnownDriver {
  readonly name: string;
  /** Whether this version of Node.js can load the driver, once it is installed. */
  readonly runsHere: boolean;
  /** The argument of `npm install`. Absent for a driver that Node.js includes. */
  readonly install?: string;
  load(require: NodeJS.Require): DatabaseClass;
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

const KNOWN: readonly KnownDriver[] = [
  {
    name: 'node:sqlite',
    runsHere: major >= 24 || (major === 23 && minor >= 4) || (major === 22 && minor >= 13),
    load: (require) => require('node:sqlite').DatabaseSync,
  },
  { name: 'libsql', runsHere: true, install: 'libsql', load: (require) => require('libsql') },
  {
    name: 'better-sqlite3',
    // On Node.js 20 this driver crashes the process after loading.
    runsHere: major >= 22,
    install: 'better-sqlite3@13',
    load: (require) => require('better-sqlite3'),
  },
  {
    name: '@photostructure/sqlite',
    runsHere: true,
    install: '@photostructure/sqlite',
    load: (require) => require('@photostructure/sqlite').DatabaseSync,
  },
];

/** A folder with its own node_modules, for drivers that are not development dependencies. */
const moreModules = process.env['STORE_ORDERS_TEST_MODULES'];
const requires = [import.meta.url, ...(moreModules ? [join(moreModules, 'any.js')] : [])].map((from) =>
  createRequire(from),
);

/** The drivers that are installed and that this version of Node.js can load. */
export const sqliteDrivers: SqliteDriver[] = [];
/**
 * The drivers that this version of Node.js can load but that are not installed, each with an
 * instruction to install it.
 */
export const missingDrivers: { readonly name: string; readonly remedy: string }[] = [];

for (const { name, runsHere, install, load } of KNOWN) {
  if (!runsHere) continue;
  const Database = firstFound(load);
  if (Database !== undefined) sqliteDrivers.push({ name, open: (file) => new Database(file) });
  else
    missingDrivers.push({ name, remedy: `npm install ${install} in the folder that STORE_ORDERS_TEST_MODULES names` });
}

function firstFound(load: KnownDriver['load']): DatabaseClass | undefined {
  for (const require of requires) {
    try {
      return load(require);
    } catch (error) {
      // Any other failure is thrown. Otherwise a driver that is installed but does not load would
      // look like a missing one.
      if (!(error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND')) throw error;
    }
  }
  return undefined;
}
