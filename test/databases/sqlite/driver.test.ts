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

/** Creates a driver's class that opens nothing, and only records the file and the driver's name. */
function driver(name: string) {
  return class {
    readonly opened: string;
    constructor(file: string) {
      this.opened = `${file} by ${name}`;
    }
  };
}

function openedBy(file: string): unknown {
  return Reflect.get(openSqliteDatabase(file), 'opened');
}

test("Node's own driver is preferred to libsql", (t) => {
  const modules: Record<string, unknown> = {
    'node:sqlite': { DatabaseSync: driver('node:sqlite') },
    libsql: driver('libsql'),
  };
  installOnly(t, modules);
  for (const name of Object.keys(modules)) {
    const file = temporaryFile();
    assert.equal(openedBy(file), `${file} by ${name}`);
    delete modules[name];
  }
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
  installOnly(t, { 'node:sqlite': { DatabaseSync: Failing }, libsql: driver('libsql') });
  const file = temporaryFile();
  assert.throws(() => openSqliteDatabase(file), {
    name: 'SqliteFileError',
    message: `cannot open ${file}: check that its directory exists and that both are readable and writable`,
    cause: new Error(`cannot open ${file}`),
  });
});
