import type { SqliteDatabase, SqliteStatement, SqliteValue } from 'store-orders/sqlite';

/** What to do instead of a call; `proceed` makes the call after all. */
export interface Wrapping {
  exec?(sql: string, proceed: () => unknown): unknown;
  run?(parameters: readonly SqliteValue[], proceed: () => unknown): unknown;
  prepare?(sql: string): SqliteStatement;
}

/** The same handle, with a hand in between. */
export function wrapDatabase(database: SqliteDatabase, wrapping: Wrapping): SqliteDatabase {
  return {
    exec(sql) {
      const proceed = () => database.exec(sql);
      return wrapping.exec ? wrapping.exec(sql, proceed) : proceed();
    },
    prepare: (sql) => wrapStatement(wrapping.prepare?.(sql) ?? database.prepare(sql), wrapping),
    close: () => database.close(),
  };
}

function wrapStatement(statement: SqliteStatement, wrapping: Wrapping): SqliteStatement {
  return {
    run(...parameters) {
      const proceed = () => statement.run(...parameters);
      return wrapping.run ? wrapping.run(parameters, proceed) : proceed();
    },
    get: (...parameters) => statement.get(...parameters),
    all: (...parameters) => statement.all(...parameters),
    ...(statement.setReadBigInts && { setReadBigInts: (on: boolean) => statement.setReadBigInts?.(on) }),
    ...(statement.safeIntegers && { safeIntegers: (on: boolean) => statement.safeIntegers?.(on) }),
  };
}

/** Does `work` at the first `exec` of `sql`, before it or after it. */
export function once(sql: string, when: 'before' | 'after', work: () => void): Wrapping {
  let done = false;
  return {
    exec(executed, proceed) {
      if (done || executed !== sql) return proceed();
      done = true;
      if (when === 'before') work();
      const result = proceed();
      if (when === 'after') work();
      return result;
    },
  };
}
