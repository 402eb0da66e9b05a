import { before } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { PGlite } from '@electric-sql/pglite';
import type { PostgresRow, PostgresStatement } from 'store-orders/postgres';

let engine: Promise<PGlite> | undefined;

/** Compiles the module by the baseline compiler only, which takes half of the time. */
function startEngine(): Promise<PGlite> {
  setFlagsFromString('--liftoff-only');
  return PGlite.create();
}

/**
 * Returns PostgreSQL as a module of WebAssembly, which all files of a process share. It has a single
 * connection, and no tables at first. What needs several connections, or another version, is in the
 * proofs.
 */
export function useWebAssembly() {
  /** The statements that were sent, in their order. */
  const sent: string[] = [];
  const started = () => (engine ??= startEngine());

  async function query({ text, values }: PostgresStatement) {
    sent.push(text);
    return { rows: (await (await started()).query<PostgresRow>(text, values)).rows };
  }

  /** Runs statements, and returns the rows of the last one. */
  async function run(sql: string): Promise<readonly Record<string, unknown>[]> {
    return (await (await started()).exec(sql)).at(-1)?.rows ?? [];
  }

  before(() => run('DROP SCHEMA public CASCADE; CREATE SCHEMA public'));
  return { pool: { query }, sent, run };
}
