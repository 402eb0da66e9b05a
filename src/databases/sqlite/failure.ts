import { messageOf } from '../../message-of.js';

/** Each row has this program's name for an error, SQLite's code, and SQLite's name for the code. */
const RESULTS = [
  ['busy', 5, 'SQLITE_BUSY'],
  ['read_only', 8, 'SQLITE_READONLY'],
  ['io', 10, 'SQLITE_IOERR'],
  ['damaged', 11, 'SQLITE_CORRUPT'],
  ['full', 13, 'SQLITE_FULL'],
  ['cannot_open', 14, 'SQLITE_CANTOPEN'],
  ['not_a_database', 26, 'SQLITE_NOTADB'],
] as const;

type SqliteResult = (typeof RESULTS)[number][0];

/** The kind of a failure: a result of SQLite, or a failure that SQLite does not detect. */
export type FailureKind =
  | SqliteResult
  /** The open file was moved, removed or replaced by another file. */
  | 'moved'
  /** The disk has not responded in time. Whether a write was done is unknown. */
  | 'late'
  | 'other';

export type FileOperation = 'open' | 'read' | 'write' | 'use';

/**
 * A failure of a database file. Its message is a sentence for the operator with the file, the
 * operation and the cause.
 */
export class SqliteFileError extends Error {
  override readonly name = 'SqliteFileError';
  readonly kind: FailureKind;

  constructor(message: string, kind: FailureKind, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

function resultOf(error: unknown): SqliteResult | undefined {
  // node:sqlite has the extended result code in `errcode`, libsql in `rawCode`. better-sqlite3 has
  // the name of that code in `code`, as libsql has for most codes.
  const { code, errcode, rawCode = errcode }: Readonly<Record<string, unknown>> = Object(error);
  return RESULTS.find(
    ([, known, name]) => (typeof rawCode === 'number' && (rawCode & 0xff) === known) || String(code).startsWith(name),
  )?.[0];
}

export function isResult(error: unknown, result: SqliteResult): error is Error {
  return resultOf(error) === result;
}

export function isLate(error: unknown): boolean {
  return error instanceof SqliteFileError && error.kind === 'late';
}

/**
 * Converts a value that was thrown while a file was used. An error whose cause is an error of SQLite
 * explains that one, so it keeps its own message.
 */
export function failureOf(error: unknown, file: string, operation: FileOperation): SqliteFileError {
  if (error instanceof SqliteFileError) return error;
  const result = resultOf(error) ?? 'other';
  const kind = resultOf(Object(error).cause) ?? result;
  return new SqliteFileError(sentence(result, messageOf(error), file, operation), kind, { cause: error });
}

/** Converts a driver's error. Its message is not used, because it says little about the cause. */
export function cannotOpen(error: unknown, file: string): SqliteFileError {
  return new SqliteFileError(sentence('cannot_open', '', file, 'open'), 'cannot_open', { cause: error });
}

export function damageError(file: string, problem: string): SqliteFileError {
  return new SqliteFileError(sentence('damaged', problem, file, 'read'), 'damaged');
}

export function lateError(file: string, operation: FileOperation, cause: string): SqliteFileError {
  return new SqliteFileError(`cannot ${operation} ${file}: ${cause}`, 'late');
}

function sentence(kind: FailureKind, text: string, file: string, operation: FileOperation): string {
  switch (kind) {
    case 'busy':
      return `cannot ${operation} ${file}: another process has held its lock for too long (${text}); try again`;
    case 'full':
      return `cannot ${operation} ${file}: the disk is full; free some space`;
    case 'io':
      return `cannot ${operation} ${file}: the disk failed (${text}); check the disk, its free space and the system's log`;
    case 'read_only':
      return `cannot ${operation} ${file}: the file or its file system is read-only; make it writable`;
    case 'cannot_open':
      return `cannot open ${file}: check that its directory exists and that both are readable and writable`;
    case 'damaged':
    case 'not_a_database':
      return `${file} is damaged: ${text}; stop the server, keep a copy of the file and its -wal file, then run db restore with a sound backup`;
    default:
      return `cannot ${operation} ${file}: ${text}`;
  }
}
