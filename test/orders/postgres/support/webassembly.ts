import { after, before } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { PGlite } from '@electric-sql/pglite';
import type { PostgresRow, PostgresStatement } from 'store-orders/postgres';

/**
 * Starts PostgreSQL as a module of WebAssembly for the tests of a file. It has a single connection.
 * What needs several, or another version, is in the proofs.
 */
export function useWebAssembly() {
  let engine: PGlite;
  /** The statements that were sent, in their order. */
  const sent: string[] = [];
  before(async () => {
    // Compiles the module in half of the time.
    setFlagsFromString('--liftoff-only');
    engine = await PGlite.create();
  });
  after(() => engine.close());

  async function query({ text, values }: PostgresStatement) {
    sent.push(text);
    return { rows: (await engine.query<PostgresRow>(text, values)).rows };
  }
  return {
    pool: { query },
    sent,
    /** Runs statements, and returns the rows of the last one. */
    run: async (sql: string) => (await engine.exec(sql)).at(-1)?.rows ?? [],
  };
}
