import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { APPLICATION_ID, NOT_A_DATABASE, NOT_OUR_DATABASE } from '../../databases/sqlite/migration.js';

/**
 * Returns the reason why a file must not be opened, or `undefined` if it may be opened or does not
 * exist. Reads the file without SQLite, because SQLite would write the log of a crashed program
 * into the file.
 *
 * Do not call this function in a process that has the file open: when a process closes any
 * descriptor of a file, it loses all its locks on that file.
 */
export function refusalOf(file: string): string | undefined {
  return fileRefusal(file) ?? journalRefusal(file);
}

/**
 * The first bytes of an SQLite file: the header of the database, and the first 5 bytes of the
 * header of page 1 (SQLite file format, sections 1.3 and 1.6).
 */
const HEADER_SIZE = 105;
const MAGIC = Buffer.from('SQLite format 3\0');
const APPLICATION_ID_AT = 68;
const PAGE_KIND_AT = 100;
const ENTRIES_AT = 103;
const LEAF = 13;

/** Like {@link refusalOf}, but does not look at the journal beside the file. */
export function fileRefusal(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (found.isDirectory()) return `it is a directory; name a file in it, such as ${join(file, 'store-orders.db')}`;
  if (!found.isFile()) return 'it is not a regular file; name another';
  if (found.nlink > 1) {
    return `the file has ${found.nlink} names (hard links), and SQLite keeps a log beside each; remove all names but one`;
  }
  const header = firstBytes(file, HEADER_SIZE);
  if (header.length === 0) return undefined;
  if (!header.subarray(0, MAGIC.length).equals(MAGIC) || header.length < HEADER_SIZE) {
    return `${NOT_A_DATABASE}; name another file, or move this one away and restore a backup with db restore`;
  }
  // The tables of a file without tables may be in its log. SQLite looks there later.
  const isEmpty = header[PAGE_KIND_AT] === LEAF && header.readUInt16BE(ENTRIES_AT) === 0;
  return isEmpty || header.readInt32BE(APPLICATION_ID_AT) === APPLICATION_ID ? undefined : NOT_OUR_DATABASE;
}

/** The header of a rollback journal (SQLite file format, section 3). */
const JOURNAL_HEADER_SIZE = 28;
const JOURNAL_MAGIC = Buffer.from('d9d505f920a163d7', 'hex');
const PAGES_BEFORE_AT = 16;
const PAGE_SIZE_AT = 24;

/**
 * Returns the reason why the journal beside a file cannot be its own. SQLite would roll the file
 * back to the size that the journal names. If a process is killed while it creates a database, it
 * leaves a journal that names 0 pages. Its own file has only one page, because this program
 * creates the tables later, with a write-ahead log. In a larger file, the rollback would delete
 * every order.
 */
export function journalRefusal(file: string): string | undefined {
  const journal = `${file}-journal`;
  if (statSync(journal, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  const header = firstBytes(journal, JOURNAL_HEADER_SIZE);
  const isHot = header.length === JOURNAL_HEADER_SIZE && header.subarray(0, JOURNAL_MAGIC.length).equals(JOURNAL_MAGIC);
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (!isHot || header.readUInt32BE(PAGES_BEFORE_AT) > 0 || bytes <= header.readUInt32BE(PAGE_SIZE_AT))
    return undefined;
  return (
    `the journal ${journal} belongs to a database that this file has replaced; ` +
    'rename this file, then restore it with db restore, which removes that journal'
  );
}

function firstBytes(file: string, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  const descriptor = openSync(file, 'r');
  try {
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, 0));
  } finally {
    closeSync(descriptor);
  }
}
