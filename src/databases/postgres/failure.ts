/**
 * Explains error codes of Node.js and SQLSTATEs of PostgreSQL to an operator, by code or by its
 * class.
 */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no PostgreSQL server accepts connections there',
  ENOENT: 'there is no such file or socket',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name cannot be resolved at the moment',
  ETIMEDOUT: 'its host does not answer',
  ECONNRESET: 'the connection was lost',
  EPIPE: 'the connection was lost',
  '08': 'the connection was lost',
  '25006': 'the server takes no writes; is it a standby?',
  '28': 'the server refuses this user',
  '3D000': 'there is no such database',
  '42501': 'the user has no right to do that',
  '42P01': 'a table is missing; was it dropped or renamed?',
  '53100': 'the disk of the server is full',
  '53200': 'the server is out of memory',
  '53300': 'the server has no connection left; raise max_connections or run fewer processes',
  '55P03': 'another transaction holds a lock for too long',
  '57014': 'it took too long, and the server gave up; does another transaction hold a lock?',
  '57P': 'the server is stopping or starting',
  '58': 'the server cannot read or write its files',
};

/** Messages of `pg` that come without a code. */
const TEXTS: readonly (readonly [text: RegExp, cause: string])[] = [
  [/^timeout exceeded when trying to connect/, 'no connection was free or could be made in time'],
  [/^Query read timeout/, 'the server did not answer in time'],
  [/^Connection terminated|^Client has encountered a connection error/, 'the connection was lost'],
];

/**
 * Creates an error whose message is a sentence for the operator: the failed operation and the
 * cause, followed by the driver's message.
 */
export function failureOf(operation: string, error: unknown): Error {
  return new Error(`cannot ${operation}: ${causeOf(error)}`, { cause: error });
}

/** Returns why something failed: the driver's message, preceded by its meaning if that is known. */
export function causeOf(error: unknown): string {
  // If a host has several addresses, each has failed, and the error as a whole has no message.
  if (error instanceof AggregateError && error.message === '')
    return [...new Set(error.errors.map(causeOf))].join('; ');
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
