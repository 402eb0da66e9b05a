import { resultOf, type SqliteResult } from './database.js';

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

export const CURE =
  'stop the server, keep a copy of the file and its -wal file, then run db restore with a sound backup';

/** Error codes of Node.js, for system calls that this program makes itself, without SQLite. */
const SYSTEM_CODES: Readonly<Record<string, SqliteResult>> = {
  EROFS: 'read_only',
  EACCES: 'read_only',
  ENOSPC: 'full',
  EIO: 'io',
};

/** Converts an error of a driver or the system into a failure. */
export function failureOf(error: unknown, file: string, operation: FileOperation): SqliteFileError {
  if (error instanceof SqliteFileError) return error;
  const kind = resultOf(error) ?? systemResultOf(error) ?? 'other';
  return new SqliteFileError(sentence(kind, textOf(error), file, operation), kind, { cause: error });
}

/**
 * Converts the error of a driver that could not open the file. The error's message is not used,
 * because drivers report little about the cause.
 */
export function cannotOpen(error: unknown, file: string): SqliteFileError {
  return new SqliteFileError(sentence('cannot_open', '', file, 'open'), 'cannot_open', { cause: error });
}

function systemResultOf(error: unknown): SqliteResult | undefined {
  return error instanceof Error && 'code' in error ? SYSTEM_CODES[String(error.code)] : undefined;
}

export function late(file: string, operation: FileOperation): SqliteFileError {
  return new SqliteFileError(`cannot ${operation} ${file}: its disk has not responded in time; check the disk`, 'late');
}

/** Reports whether the disk has not responded in time. */
export function isLate(error: unknown): boolean {
  return error instanceof SqliteFileError && error.kind === 'late';
}

function sentence(kind: FailureKind, text: string, file: string, operation: FileOperation): string {
  switch (kind) {
    case 'busy':
      return `cannot ${operation} ${file}: another process has held its lock for too long (${text}); try again`;
    case 'full':
      return `cannot ${operation} ${file}: the disk is full; free some space`;
    case 'io':
      return `cannot ${operation} ${file}: the disk failed (${text}); check the disk and the system's log`;
    case 'read_only':
      return `cannot ${operation} ${file}: the file or its file system is read-only; make it writable`;
    case 'cannot_open':
      return `cannot open ${file}: check that its directory exists and that both are readable and writable`;
    case 'damaged':
    case 'not_a_database':
      return `${file} is damaged: ${text}; ${CURE}`;
    default:
      return `cannot ${operation} ${file}: ${text}`;
  }
}

/** Returns the message of a thrown value. What a driver throws is not always an Error. */
export function textOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message);
  return typeof error === 'object' ? JSON.stringify(error) : String(error);
}
