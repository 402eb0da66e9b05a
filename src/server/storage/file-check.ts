import { statSync } from 'node:fs';
import { join } from 'node:path';
import { APPLICATION_ID, NOT_A_DATABASE, NOT_OUR_DATABASE } from '../../databases/sqlite/migration.js';
import { canBelongTogether, HEADER_SIZE, NO_LOG, readLog, withFile } from './wal-check.js';

/**
 * Values and offsets in the first bytes of an SQLite file (SQLite file format, sections 1.3 and
 * 1.6).
 */
const MAGIC = Buffer.from('SQLite format 3\0');
const APPLICATION_ID_AT = 68;
const PAGE_KIND_AT = 100;
const ENTRIES_AT = 103;
const LEAF = 13;

/**
 * Returns the reason why a file must not be opened, or `undefined` if it may be opened or does not
 * exist. Reads the file without SQLite, because SQLite would write the log of a crashed program
 * into the file. With `withLog: false`, ignores the log and returns the reason why the file must
 * not be replaced.
 *
 * Do not call this function in a process that has the file open: when a process closes any
 * descriptor of a file, it loses all its locks on that file.
 */
export function refusalOf(file: string, { withLog = true } = {}): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (found.isDirectory()) return `it is a directory; name a file in it, such as ${join(file, 'store-orders.db')}`;
  if (!found.isFile()) return 'it is not a regular file; name another';
  if (found.nlink > 1) {
    return `the file has ${found.nlink} names (hard links), and SQLite keeps a log beside each; remove all names but one`;
  }
  const log = withLog ? readLog(`${file}-wal`) : NO_LOG;
  const header = withFile(file, (read) => read(HEADER_SIZE, 0));
  if (header.length === 0 && !log.hasFrames) return undefined;
  if (!header.subarray(0, MAGIC.length).equals(MAGIC) || header.length < HEADER_SIZE) {
    return `${NOT_A_DATABASE}; name another file, or move this one away and restore a backup with db restore`;
  }
  const isEmpty = header[PAGE_KIND_AT] === LEAF && header.readUInt16BE(ENTRIES_AT) === 0 && !log.hasFrames;
  if (!isEmpty && !isOurs(header) && !isOurs(log.firstHeader)) return NOT_OUR_DATABASE;
  if (canBelongTogether(header, log)) return undefined;
  return (
    `the log ${file}-wal belongs to a database that this file has replaced; ` +
    'rename this file, then restore it with db restore, which removes that log'
  );
}

function isOurs(header: Buffer | undefined): boolean {
  return header?.readInt32BE(APPLICATION_ID_AT) === APPLICATION_ID;
}
