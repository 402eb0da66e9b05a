import type { SqliteDatabase, SqliteStatement, SqliteValue } from 'store-orders/sqlite';

/**
 * Functions that are called instead of the methods of a database handle. `proceed` makes the
 * original call.
 */
export interface Wrapping {
  exec?(sql: string, proceed: () => unknown): unknown;
  run?(parameters: readonly SqliteValue[], proceed: () => unknown): unknown;
}

/** Wraps a database handle so that a test can intercept its calls. */
export function wrapDatabase(database: SqliteDatabase, wrapping: Wrapping): SqliteDatabase {
  return {
    exec(sql) {
      const proceed = () => database.exec(sql);
      return wrapping.exec ? wrapping.exec(sql, proceed) : proceed();
    },
    prepare: (sql) => wrapStatement(database.prepare(sql), wrapping),
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

/** Runs `work` before or after the first `exec` of `sql`. */
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
