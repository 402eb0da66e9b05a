import { writeFileSync } from 'node:fs';

/** Returns the rollback journal of a transaction that has only added pages to a file of `pages` pages. */
export function journalOf(pages: number): Buffer {
  const header = Buffer.alloc(512);
  // The magic number, no page in the journal, the pages before, sectors of 512 and pages of 4,096
  // bytes (SQLite file format, section 3).
  header.write('d9d505f920a163d7', 'hex');
  header.writeUInt32BE(pages, 16);
  header.writeUInt32BE(512, 20);
  header.writeUInt32BE(4_096, 24);
  return header;
}

/** Writes the journal that a process leaves if it is killed while it creates a database. */
export function leaveJournal(file: string): void {
  writeFileSync(`${file}-journal`, journalOf(0));
}
