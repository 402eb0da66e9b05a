import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { APPLICATION_ID, NOT_A_DATABASE, NOT_OUR_DATABASE } from '../../databases/sqlite/migration.js';

/** SQLite file format, 1.3 (header), 1.6 (page 1) and 4.1, 4.2 (log). */
const MAGIC = Buffer.from('SQLite format 3\0');
const HEADER_SIZE = 105;
const WRITE_VERSION_AT = 18;
const ROLLBACK_JOURNAL = 1;
const APPLICATION_ID_AT = 68;
const PAGE_KIND_AT = 100;
const ENTRIES_AT = 103;
const LEAF = 13;
const LOG_HEADER_SIZE = 32;
const FRAME_HEADER_SIZE = 24;
const PAGE_SIZE_AT = 8;
const SALTS = [16, 24] as const;

/**
 * Why the file is not an order database that may be opened, `undefined` when it may be one, or is not there. Found
 * without SQLite, which changes even a file that it only looks into: it writes the log of a program that crashed into
 * its database. Without its log: whether it may be replaced. Not for a process that has opened the file: closing any descriptor of a file drops all its locks.
 */
export function refusalOf(file: string, { withLog = true } = {}): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (found.isDirectory()) return `it is a directory; name a file in it, such as ${join(file, 'store-orders.db')}`;
  if (!found.isFile()) return 'it is not a file that keeps what is written to it; name another';
  if (found.nlink > 1) {
    return `the file has ${found.nlink} names (hard links), and SQLite keeps a log beside each; remove all names but one`;
  }
  const log = withLog ? firstPageInLog(`${file}-wal`) : NO_LOG;
  const header = readBytes(file, HEADER_SIZE, 0);
  if (header.length === 0 && !log.hasFrames) return undefined;
  if (!header.subarray(0, MAGIC.length).equals(MAGIC) || header.length < HEADER_SIZE) {
    return `${NOT_A_DATABASE}; name another, or if it was one move it away and put a backup in its place with db restore`;
  }
  // SQLite begins a log only after it has noted in the file that there is one.
  if (log.hasFrames && header[WRITE_VERSION_AT] === ROLLBACK_JOURNAL) {
    return (
      `the log ${file}-wal belongs to another file, which this one has replaced; ` +
      'move this one to another name and put it in its place with db restore, which removes the log'
    );
  }
  if (isOurs(header) || (log.page !== undefined && isOurs(log.page))) return undefined;
  const isEmpty = header[PAGE_KIND_AT] === LEAF && header.readUInt16BE(ENTRIES_AT) === 0 && !log.hasFrames;
  return isEmpty ? undefined : NOT_OUR_DATABASE;
}

function isOurs(header: Buffer): boolean {
  return header.length >= HEADER_SIZE && header.readInt32BE(APPLICATION_ID_AT) === APPLICATION_ID;
}

interface LogStart {
  readonly hasFrames: boolean;
  /** The first that the log has of page 1. */
  readonly page?: Buffer;
}

const NO_LOG: LogStart = { hasFrames: false };

function firstPageInLog(log: string): LogStart {
  if (statSync(log, { throwIfNoEntry: false })?.isFile() !== true) return NO_LOG;
  const header = readBytes(log, LOG_HEADER_SIZE, 0);
  const pageSize = header.length < LOG_HEADER_SIZE ? 0 : header.readUInt32BE(PAGE_SIZE_AT);
  if (pageSize === 0) return NO_LOG;
  const frameSize = FRAME_HEADER_SIZE + pageSize;
  for (let at = LOG_HEADER_SIZE; ; at += frameSize) {
    const frame = readBytes(log, FRAME_HEADER_SIZE + HEADER_SIZE, at);
    const isOfThisLog =
      frame.length === FRAME_HEADER_SIZE + HEADER_SIZE && frame.subarray(8, 16).equals(header.subarray(...SALTS));
    if (!isOfThisLog) return { hasFrames: at > LOG_HEADER_SIZE };
    if (frame.readUInt32BE(0) === 1) return { hasFrames: true, page: frame.subarray(FRAME_HEADER_SIZE) };
  }
}

function readBytes(file: string, length: number, position: number): Buffer {
  const bytes = Buffer.alloc(length);
  const descriptor = openSync(file, 'r');
  try {
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, position));
  } finally {
    closeSync(descriptor);
  }
}
