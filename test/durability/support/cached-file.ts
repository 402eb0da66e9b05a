/** A disk writes a sector completely or not at all. The kernel writes and drops whole pages. */
const SECTOR = 512;
const PAGE = 4_096;
export const SECTORS_PER_PAGE = PAGE / SECTOR;

/**
 * Chooses a moment. After a power cut, a part of a file is as it was at this moment. A moment is a
 * line number in the record of system calls. It is not before line `since`, because everything
 * before that line was synced.
 */
export type Moment = (since: number) => number;

/** A write to whole sectors. */
interface Write {
  readonly at: number;
  readonly offset: number;
  readonly bytes: Buffer;
}

/**
 * A file as processes read it, and as it may be on disk. After a power cut, each sector has the
 * content that it had at some moment since the last sync. This moment can differ from sector to
 * sector, and from the moment whose length the file has.
 */
export class CachedFile {
  #read: Buffer = Buffer.alloc(0);
  #synced: Buffer = Buffer.alloc(0);
  #syncedAt: number;
  /** The writes that no sync has covered, oldest first. */
  #writes: Write[] = [];
  /** The file's length on disk, then its length after each change since the last sync. */
  #lengths: { readonly at: number; readonly length: number }[];
  /**
   * Pages that the kernel failed to write during an fsync. Processes can still read the data of
   * such a page, but it is not on disk. The kernel does not write the page until it changes again.
   */
  readonly #lostPages = new Set<number>();

  constructor(createdAt: number) {
    this.#syncedAt = createdAt;
    this.#lengths = [{ at: createdAt, length: 0 }];
  }

  /** Returns the whole file as processes read it. */
  contents(): Buffer {
    return this.#read;
  }

  write(bytes: Buffer, offset: number, at: number): void {
    const end = offset + bytes.length;
    if (end > this.#read.length) this.resize(end, at);
    bytes.copy(this.#read, offset);
    this.#note(offset, end, at);
  }

  resize(length: number, at: number): void {
    const before = this.#read.length;
    this.#read = withLength(this.#read, length);
    if (length < before) this.#note(length, before, at);
    if (length !== before) this.#lengths.push({ at, length });
  }

  /** Records that an fsync which began at `startedAt` has returned. */
  sync(startedAt: number): void {
    this.#synced = this.afterPowerCut(() => startedAt - 1, 1);
    this.#syncedAt = startedAt;
    this.#writes = this.#writes.filter(({ at }) => at >= startedAt);
    this.#lengths = this.#lengths.slice(this.#lengths.findLastIndex(({ at }) => at < startedAt));
  }

  /**
   * Records that an fsync has failed. The kernel treats the data as written although it is not, and
   * does not try again.
   */
  lose(startedAt: number): void {
    for (const { at, offset, bytes } of this.#writes) {
      if (at >= startedAt) continue;
      for (let start = offset; start < offset + bytes.length; start += SECTOR) {
        this.#lostPages.add(Math.floor(start / PAGE));
      }
    }
    this.#writes = this.#writes.filter(({ at }) => at >= startedAt);
  }

  isUnsynced(): boolean {
    return this.#writes.length > 0 || this.#lengths.length > 1;
  }

  /**
   * Returns the file as it is on disk after a power cut. The sectors are divided into groups of
   * `together` neighbours. All sectors of a group have the content of the same moment.
   */
  afterPowerCut(moment: Moment, together: number): Buffer {
    const lengthAt = moment(this.#syncedAt);
    const left = withLength(this.#synced, this.#lengths.findLast(({ at }) => at <= lengthAt)?.length ?? 0);
    const moments = new Map<number, number>();
    for (const { at, offset, bytes } of this.#writes) {
      for (let start = 0; start < bytes.length; start += SECTOR) {
        const group = Math.floor((offset + start) / SECTOR / together);
        const cutAt = moments.get(group) ?? moment(this.#syncedAt);
        moments.set(group, cutAt);
        if (at <= cutAt) bytes.copy(left, offset + start, start, start + SECTOR);
      }
    }
    return left;
  }

  /**
   * Notes a change of a range, as whole sectors. If a failed fsync has lost the page, the whole page
   * will be written, because the kernel writes whole pages.
   */
  #note(start: number, end: number, at: number): void {
    const [first, last] = [Math.floor(start / PAGE), Math.ceil(end / PAGE) - 1];
    const unitOf = (page: number) => (this.#lostPages.has(page) ? PAGE : SECTOR);
    const from = Math.floor(start / unitOf(first)) * unitOf(first);
    const to = Math.ceil(end / unitOf(last)) * unitOf(last);
    for (let page = first; page <= last; page++) this.#lostPages.delete(page);
    this.#writes.push({ at, offset: from, bytes: withLength(this.#read.subarray(from, to), to - from) });
  }
}

function withLength(buffer: Buffer, length: number): Buffer {
  const copy = Buffer.alloc(length);
  buffer.copy(copy);
  return copy;
}
