import assert from 'node:assert/strict';
import Module from 'node:module';
import { type TestContext, test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { temporaryFile } from '../../support/temporary-file.js';

/** Makes `require` return these modules, and throw for every other name. */
function installOnly(t: TestContext, modules: Readonly<Record<string, unknown>>): void {
  t.mock.method(Module.prototype, 'require', (name: string) => {
    if (name in modules) return modules[name];
    throw new Error(`Cannot find module ${name}`);
  });
}

class OwnDriver {}
class Libsql {}

test("Node's own driver is preferred to libsql", (t) => {
  const modules: Record<string, unknown> = { 'node:sqlite': { DatabaseSync: OwnDriver }, libsql: Libsql };
  installOnly(t, modules);
  assert.ok(openSqliteDatabase(temporaryFile()) instanceof OwnDriver);
  delete modules['node:sqlite'];
  assert.ok(openSqliteDatabase(temporaryFile()) instanceof Libsql);
});

test('without a driver, the error names what to install', (t) => {
  installOnly(t, {});
  assert.throws(() => openSqliteDatabase(temporaryFile()), {
    message: 'no SQLite driver found; run "npm install libsql", or use Node 22.13 or newer, which has one built in',
  });
});

test('if a driver fails to open the file, its error is reported, and no other driver is tried', (t) => {
  class Failing {
    constructor(file: string) {
      throw new Error(`cannot open ${file}`);
    }
  }
  installOnly(t, { 'node:sqlite': { DatabaseSync: Failing }, libsql: Libsql });
  const file = temporaryFile();
  assert.throws(() => openSqliteDatabase(file), {
    name: 'SqliteFileError',
    message: `cannot open ${file}: check that its directory exists and that both are readable and writable`,
    cause: new Error(`cannot open ${file}`),
  });
});
