import type pg from 'pg';

/**
 * Begins a transaction on a connection of its own, and runs a statement in it. Resolves to a
 * function that ends the transaction.
 */
export async function beginTransaction(pool: pg.Pool, statement: string) {
  const client = await pool.connect();
  await client.query(`BEGIN; ${statement}`);
  return async (end: 'COMMIT' | 'ROLLBACK' = 'COMMIT'): Promise<void> => {
    await client.query(end);
    client.release();
  };
}

/** Reports whether a statement on the server waits for a lock. */
export async function isWaiting(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
  return rows.length > 0;
}
