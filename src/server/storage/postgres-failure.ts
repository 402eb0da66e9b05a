import { codeOf, holdConnection, type PostgresPool } from '../../databases/postgres/client.js';
import { messageOf } from '../log/message-of.js';

/** Causes for an operator, by the error code of Node.js or PostgreSQL (SQLSTATE). */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no PostgreSQL server accepts connections there',
  ENOENT: 'there is no such file or socket',
  ENOTFOUND: 'its host name is unknown',
  ECONNRESET: 'the connection was lost',
  '25006': 'the server is read-only; is it a standby?',
  '42P01': 'a table is missing; was it dropped or renamed?',
  '53300': 'the server has no connection left; raise max_connections or run fewer processes',
  '57014': 'the statement took too long, so the server cancelled it; does another transaction hold a lock?',
};

/** Matches errors of `pg` that have no code. */
const LOST = /^Connection terminated|^Client has encountered a connection error/;

/** Returns why something failed: the cause, if it is known, and the driver's message. */
export function explain(error: unknown): string {
  const message = messageOf(error);
  const cause = CAUSES[codeOf(error)] ?? (LOST.test(message) ? 'the connection was lost' : undefined);
  return cause === undefined ? message : `${cause} (${message})`;
}

/** Wraps a pool so that its errors have a message for the operator. They keep their code. */
export function withExplainedErrors({ query, connect }: Required<PostgresPool>): Required<PostgresPool> {
  const explained = <T>(work: Promise<T>) =>
    work.catch((cause: unknown) => {
      throw Object.assign(new Error(explain(cause), { cause }), { code: codeOf(cause) });
    });
  return {
    query: (statement) => explained(query(statement)),

    async connect() {
      const client = await explained(holdConnection(connect));
      return { query: (statement) => explained(client.query(statement)), release: client.release };
    },
  };
}
