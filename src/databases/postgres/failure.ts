import type { PostgresPool } from './client.js';
import type { NamedStatement, NamingPostgresPool } from './named-statements.js';

/**
 * Explanations of errors for an operator. Each property is an error code of Node.js or PostgreSQL
 * (SQLSTATE), or its first two or three characters.
 */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no PostgreSQL server accepts connections there',
  ENOENT: 'there is no such file or socket',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name cannot be resolved at the moment',
  ETIMEDOUT: 'its host does not respond',
  ECONNRESET: 'the connection was lost',
  EPIPE: 'the connection was lost',
  '08': 'the connection was lost',
  '25006': 'the server is read-only; is it a standby?',
  '28': 'the server refuses this user',
  '3D000': 'there is no such database',
  '42501': 'the database user has no right to run the statement',
  '42P01': 'a table is missing; was it dropped or renamed?',
  '53100': 'the disk of the server is full',
  '53200': 'the server is out of memory',
  '53300': 'the server has no connection left; raise max_connections or run fewer processes',
  '55P03': 'another transaction has held a lock for too long',
  '57014': 'the statement took too long, so the server cancelled it; does another transaction hold a lock?',
  '57P': 'the server is stopping or starting',
  '58': 'the server cannot read or write its files',
};

/** Explanations of errors of `pg` that have a message but no code. */
const TEXTS: readonly (readonly [text: RegExp, cause: string])[] = [
  [/^timeout exceeded when trying to connect/, 'no connection was free, and none could be opened in time'],
  [/^Query read timeout/, 'the server did not respond in time'],
  [/^Connection terminated|^Client has encountered a connection error/, 'the connection was lost'],
];

/** Wraps a pool so that its errors have a message for the operator. They keep their code. */
export function withExplainedErrors(pool: NamingPostgresPool & Required<Pick<PostgresPool, 'connect'>>): typeof pool {
  const explained = <T>(work: Promise<T>) =>
    work.catch((error: unknown) => {
      throw failureOf(error);
    });
  return {
    query: (statement: NamedStatement | string, values?: string[]) =>
      explained(typeof statement === 'string' ? pool.query(statement, values) : pool.query(statement)),

    connect: (taken) =>
      pool.connect((error, client) =>
        client === undefined
          ? taken(failureOf(error))
          : taken(undefined, {
              query: (text, values) => explained(client.query(text, values)),
              release: (destroy) => client.release(destroy),
              on: (event, listener) => client.on?.(event, listener),
              off: (event, listener) => client.off?.(event, listener),
            }),
      ),
  };
}

function failureOf(error: unknown): Error {
  const failure = new Error(explain(error), { cause: error });
  return error instanceof Error && 'code' in error ? Object.assign(failure, { code: error.code }) : failure;
}

/** Returns why something failed: the cause, if it is known, and the driver's message. */
export function explain(error: unknown): string {
  // If a host name has several addresses and all of them fail, this error has no message of its
  // own. It contains one error for each address.
  if (error instanceof AggregateError && error.message === '')
    return [...new Set(error.errors.map(explain))].join('; ');
  if (!(error instanceof Error)) return String(error);
  const { message } = error;
  const code = 'code' in error ? String(error.code) : '';
  const cause =
    CAUSES[code] ??
    CAUSES[code.slice(0, 3)] ??
    (code.length === 5 ? CAUSES[code.slice(0, 2)] : undefined) ??
    TEXTS.find(([text]) => text.test(message))?.[1];
  return cause === undefined ? message : `${cause} (${message})`;
}
