import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { SqliteDatabase } from 'store-orders/sqlite';

export interface SqliteDriver {
  readonly name: string;
  open(file: string): SqliteDatabase;
}

type DatabaseClass = new (file: string) => SqliteDatabase;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

/** The known drivers, and whether this version of Node.js can load them once they are installed. */
const KNOWN = [
  { name: 'node:sqlite', runsHere: major >= 24 || (major === 23 && minor >= 4) || (major === 22 && minor >= 13) },
  { name: 'libsql', runsHere: true },
  // The lowest version of the range of package.json.
  { name: 'libsql-lowest', runsHere: true },
  // On Node.js 20 this driver crashes the process after loading.
  { name: 'better-sqlite3', runsHere: major >= 22 },
  { name: '@photostructure/sqlite', runsHere: true },
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

for (const { name } of KNOWN.filter(({ runsHere }) => runsHere)) {
  const Database = load(name);
  if (Database !== undefined) sqliteDrivers.push({ name, open: (file) => new Database(file) });
  else missingDrivers.push({ name, remedy: 'npm run test:nodes installs it' });
}

function load(name: string): DatabaseClass | undefined {
  for (const require of requires) {
    try {
      const loaded: DatabaseClass & { readonly DatabaseSync?: DatabaseClass } = require(name);
      return loaded.DatabaseSync ?? loaded;
    } catch (error) {
      // Any other failure is thrown. Otherwise a driver that is installed but does not load would
      // look like a missing one.
      if (!(error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND')) throw error;
    }
  }
  return undefined;
}
