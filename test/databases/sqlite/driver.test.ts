import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import Module from 'node:module';
import { type TestContext, test } from 'node:test';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { temporaryFile } from '../../support/temporary-file.js';

/** Makes only these modules available. */
function installOnly(t: TestContext, modules: Readonly<Record<string, unknown>>): void {
  const getBuiltinModule = process.getBuiltinModule.bind(process);
  const without = (name: string) => (name === 'node:sqlite' ? modules[name] : getBuiltinModule(name));
  t.mock.method(process, 'getBuiltinModule', without);
  t.mock.method(Module.prototype, 'require', (name: string) => {
    if (name in modules) return modules[name];
    throw new Error('musl.so.1: cannot open shared object file\nRequire stack: ...');
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

test('without a driver, the error says why libsql cannot be loaded and what to install, and no file is created', (t) => {
  installOnly(t, {});
  const message =
    'no SQLite driver can be loaded (musl.so.1: cannot open shared object file); run "npm install libsql", or use Node 22.13 or newer, which has one built in';
  const file = temporaryFile();
  for (const open of [openSqliteDatabase, openSqliteOrderStore]) assert.throws(() => open(file), { message });
  assert.ok(!existsSync(file));
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
