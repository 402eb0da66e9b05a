import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { FOREIGN, NO_DATABASE, SCHEMA_TABLE } from '../../databases/sqlite/database.js';

const MAGIC = Buffer.from('SQLite format 3\0');
const HEADER_SIZE = 105;
/** The kind of page 1, where its tables are listed, and how many entries are on it (SQLite file format, 1.6). */
const PAGE_KIND_AT = 100;
const ENTRIES_AT = 103;
const LEAF = 13;

const NAME = Buffer.from(SCHEMA_TABLE);
const CHUNK_SIZE = 2 ** 20;

/**
 * Why the file is no order database, as far as its bytes tell; `undefined` when it may be one, or is not there. Found
 * without SQLite, which changes even a file that it only looks into: it writes the log of a program that crashed into
 * its database. Not for a process that has opened the file: closing any descriptor of a file drops all its locks.
 */
export function refusalOf(file: string): string | undefined {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return undefined;
  const hasLog = (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const header = Buffer.alloc(HEADER_SIZE);
  const size = withDescriptor(file, (descriptor) => readSync(descriptor, header, 0, HEADER_SIZE, 0));
  if (size === 0 && !hasLog) return undefined;
  if (!header.subarray(0, MAGIC.length).equals(MAGIC)) {
    return `${NO_DATABASE}; name another, or if it was one put its newest backup in its place`;
  }
  const isEmpty = header[PAGE_KIND_AT] === LEAF && header.readUInt16BE(ENTRIES_AT) === 0 && !hasLog;
  return isEmpty || mentions(file) || (hasLog && mentions(`${file}-wal`)) ? undefined : FOREIGN;
}

/** Whether the name of the table with the versions is anywhere in the file: in an order database, on its first page. */
function mentions(file: string): boolean {
  const chunk = Buffer.alloc(CHUNK_SIZE);
  return withDescriptor(file, (descriptor) => {
    for (let at = 0; ; at += CHUNK_SIZE - NAME.length) {
      const size = readSync(descriptor, chunk, 0, CHUNK_SIZE, at);
      if (chunk.subarray(0, size).includes(NAME)) return true;
      if (size < CHUNK_SIZE) return false;
    }
  });
}

function withDescriptor<T>(file: string, read: (descriptor: number) => T): T {
  const descriptor = openSync(file, 'r');
  try {
    return read(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
