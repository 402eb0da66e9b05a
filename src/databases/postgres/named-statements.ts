import { hash } from 'node:crypto';
import { checkPool, type HeldPostgresClient, type PostgresClient, type PostgresPool } from './client.js';

/** A pool whose driver supports named statements. `pg`'s Pool fits as it is. */
export interface NamingPostgresPool {
  query(statement: NamedStatement): ReturnType<PostgresClient['query']>;
  query(text: string, values?: string[]): ReturnType<PostgresClient['query']>;
  connect?(): Promise<HeldPostgresClient>;
}

export interface NamedStatement {
  readonly name: string;
  readonly text: string;
  readonly values: string[];
}

/**
 * The SQLSTATE codes of a statement that a pooler has sent on another server connection, which does
 * not know the name of the statement, or knows it from another client.
 */
const NOT_OURS = ['26000', '42P05'];

/**
 * Wraps a pool so that the server parses and plans frequent statements once per connection. Behind
 * a pooler that gives each transaction another server connection, and does not support named
 * statements, the server rejects a named statement before it runs. A rejected statement is sent
 * again without a name, and from then on no statement is named.
 */
export function withNamedStatements(pool: NamingPostgresPool): PostgresPool {
  checkPool(pool);
  const names = new Map<string, string>();
  let isRefused = false;

  function nameOf(text: string): string {
    let name = names.get(text);
    if (name === undefined) {
      name = `store_orders_${hash('sha256', text, 'hex').slice(0, 32)}`;
      names.set(text, name);
    }
    return name;
  }

  return {
    query: (text, values) => pool.query(text, values),
    ...(pool.connect !== undefined && { connect: pool.connect.bind(pool) }),

    async queryOften(text, values) {
      if (isRefused) return pool.query(text, values);
      try {
        return await pool.query({ name: nameOf(text), text, values });
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && NOT_OURS.includes(String(error.code)))) throw error;
        isRefused = true;
        return pool.query(text, values);
      }
    },
  };
}
