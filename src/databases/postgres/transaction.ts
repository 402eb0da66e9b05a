import { type Connect, holdConnection } from './client.js';

/**
 * SQL that lifts the time limits of its transaction. Limits that protect the requests of clients
 * would end an import or a migration, which take as long as they need.
 */
export const LIFT_TIMEOUTS = `SELECT set_config(name, '0', true) FROM pg_settings
  WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

/** Runs the first statements of a transaction on a connection of its own. */
export async function beginTransaction(connect: Connect, ...statements: readonly string[]) {
  const client = await holdConnection(connect);
  let isCommitted = false;
  /** Returns the connection to the pool, or closes it if the transaction is not committed. */
  const end = () => client.release(!isCommitted);
  try {
    for (const text of statements) await client.query({ text });
  } catch (error) {
    end();
    throw error;
  }
  return {
    query: client.query,

    async commit(): Promise<void> {
      await client.query({ text: 'COMMIT' });
      isCommitted = true;
    },

    end,
  };
}
