import { closeSync, openSync, readSync, statSync } from 'node:fs';

const TRANSACTIONS_COUNTED = 2 ** 31;

/**
 * How many bytes are read from the start of page 1. They contain the header of the database, with
 * the fields below, and the first 5 bytes of the page's own header (SQLite file format, sections
 * 1.3 and 1.6).
 */
export const HEADER_SIZE = 105;
const WRITE_VERSION_AT = 18;
const ROLLBACK_JOURNAL = 1;
const USER_VERSION_AT = 60;

/**
 * Sizes and offsets in a write-ahead log. The log is a header followed by frames, and each frame is
 * a header followed by a page (SQLite file format, sections 4.1 and 4.2).
 */
const LOG_HEADER_SIZE = 32;
const PAGE_SIZE_AT = 8;
const SALTS_AT = 16;
const FRAME_HEADER_SIZE = 24;
const FRAME_SALTS_AT = 8;
const SALTS_SIZE = 8;

/** The facts about a write-ahead log that show to which file it belongs. */
export interface Log {
  readonly hasFrames: boolean;
  /** The database header in the first frame for page 1. Absent if the log has no such frame. */
  readonly firstHeader?: Buffer;
}

export const NO_LOG: Log = { hasFrames: false };

/** Reads a write-ahead log. The file may be missing. */
export function readLog(file: string): Log {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return NO_LOG;
  return withFile(file, (read) => {
    const logHeader = read(LOG_HEADER_SIZE, 0);
    const pageSize = logHeader.length < LOG_HEADER_SIZE ? 0 : logHeader.readUInt32BE(PAGE_SIZE_AT);
    if (pageSize === 0) return NO_LOG;
    const salts = logHeader.subarray(SALTS_AT, SALTS_AT + SALTS_SIZE);
    for (let at = LOG_HEADER_SIZE; ; at += FRAME_HEADER_SIZE + pageSize) {
      const frame = read(FRAME_HEADER_SIZE + HEADER_SIZE, at);
      const isComplete = frame.length === FRAME_HEADER_SIZE + HEADER_SIZE;
      // The log ends here. Frames of an older log may follow, but their salts differ.
      if (!isComplete || !frame.subarray(FRAME_SALTS_AT, FRAME_SALTS_AT + SALTS_SIZE).equals(salts)) {
        return { hasFrames: at > LOG_HEADER_SIZE };
      }
      if (frame.readUInt32BE(0) === 1) return { hasFrames: true, firstHeader: frame.subarray(FRAME_HEADER_SIZE) };
    }
  });
}

/**
 * Returns whether a log can belong to the file with this header. It cannot if the write version in
 * the header is not WAL, because SQLite sets the version before it starts a log.
 *
 * Page 1 contains a count of transactions, and the log contains newer copies of page 1. The count
 * in the first copy may be at most one more than the count in the file. If it were higher,
 * transactions would be missing. It may be lower if SQLite has already copied a part of the log
 * into the file, or all of it: after a power cut, such a log may reappear.
 */
export function canBelongTogether(header: Buffer, { hasFrames, firstHeader }: Log): boolean {
  if (!hasFrames) return true;
  if (header[WRITE_VERSION_AT] === ROLLBACK_JOURNAL) return false;
  if (firstHeader === undefined) return true;
  const count = (page: Buffer) => page.readInt32BE(USER_VERSION_AT);
  const missing = (count(firstHeader) - 1 - count(header) + TRANSACTIONS_COUNTED) % TRANSACTIONS_COUNTED;
  return missing === 0 || missing > TRANSACTIONS_COUNTED / 2;
}

/** Runs `work` with a function that reads the file. */
export function withFile<T>(file: string, work: (read: (length: number, position: number) => Buffer) => T): T {
  const descriptor = openSync(file, 'r');
  try {
    return work((length, position) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(descriptor, bytes, 0, length, position));
    });
  } finally {
    closeSync(descriptor);
  }
}
