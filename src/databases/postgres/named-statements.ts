import { hash } from 'node:crypto';
import { checkPool, type PostgresClient, type PostgresPool } from './client.js';

/** A pool whose driver supports named statements, such as the Pool of `pg`. */
export interface NamingPostgresPool {
  query(statement: NamedStatement): ReturnType<PostgresClient['query']>;
  query(text: string, values?: string[]): ReturnType<PostgresClient['query']>;
  connect?: PostgresPool['connect'];
}

export interface NamedStatement {
  readonly name: string;
  readonly text: string;
  readonly values: string[];
}

/**
 * The SQLSTATE codes by which the server rejects a named statement that a pooler has sent over
 * another connection. That connection does not know the name, or knows it from another client.
 */
const NOT_OURS = ['26000', '42P05'];

/**
 * Wraps a pool so that the server parses and plans frequent statements only once per connection.
 * For this, the statements have names. Some connection pools use another server connection for
 * each transaction, and do not support named statements. Behind such a pool, the server rejects a
 * named statement before it runs. The wrapper then sends the statement again without a name, and no
 * longer names any statement.
 */
export function withNamedStatements(pool: NamingPostgresPool): PostgresPool {
  checkPool(pool);
  let isRefused = false;

  return {
    query: (text, values) => pool.query(text, values),
    ...(pool.connect !== undefined && { connect: pool.connect.bind(pool) }),

    async queryOften(text, values) {
      if (isRefused) return pool.query(text, values);
      try {
        return await pool.query({ name: `store_orders_${hash('sha256', text, 'hex').slice(0, 32)}`, text, values });
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && NOT_OURS.includes(String(error.code)))) throw error;
        isRefused = true;
        return pool.query(text, values);
      }
    },
  };
}
