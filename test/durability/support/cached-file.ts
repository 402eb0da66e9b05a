/** A disk writes a sector completely or not at all. The kernel writes and drops whole pages. */
const SECTOR = 512;
const PAGE = 4_096;
export const SECTORS_PER_PAGE = PAGE / SECTOR;

/**
 * Chooses a moment. After a power cut, a part of a file has the content that it had at this moment.
 * A moment is a line number in the record of system calls. It is not before line `since`, because
 * everything before that line was synced.
 */
export type Moment = (since: number) => number;

/**
 * The content of a sector, or the length of the file, as it was from line `since` of the record of
 * system calls until its next change.
 */
interface Version<T> {
  readonly since: number;
  readonly value: T;
}

/**
 * A file as processes read it, and as it may be on disk. After a power cut, each sector has the
 * content that it had at some moment since the last sync. This moment can differ from sector to
 * sector. The file's length is also that of some moment since the last sync, which can differ from
 * the moments of the sectors.
 */
export class CachedFile {
  #read: Buffer = Buffer.alloc(PAGE);
  #synced: Buffer = Buffer.alloc(0);
  #syncedAt: number;
  /** The versions of each sector since the last sync, by sector number. */
  readonly #sectors = new Map<number, Version<Buffer>[]>();
  /**
   * The file's length on disk, then its length after each change since the last sync, oldest first.
   */
  #lengths: readonly Version<number>[];
  /**
   * Pages that the kernel failed to write during an fsync. Processes can still read the data of
   * such a page, but it is not on disk. The kernel does not write the page until it changes again.
   */
  readonly #lostPages = new Set<number>();

  constructor(createdAt: number) {
    this.#syncedAt = createdAt;
    this.#lengths = [{ since: createdAt, value: 0 }];
  }

  get #length(): number {
    return this.#lengths.at(-1)?.value ?? 0;
  }

  write(bytes: Buffer, offset: number, at: number): void {
    const end = offset + bytes.length;
    if (end > this.#length) this.resize(end, at);
    bytes.copy(this.#read, offset);
    this.#touch(offset, end, at);
  }

  resize(length: number, at: number): void {
    const before = this.#length;
    if (length > this.#read.length) this.#read = withLength(this.#read, pageEnd(2 * length));
    this.#read.fill(0, Math.min(length, before), before);
    this.#touch(length, before, at);
    if (length !== before) this.#lengths = [...this.#lengths, { since: at, value: length }];
  }

  /** Records that an fsync which began at `startedAt` has returned. */
  sync(startedAt: number): void {
    this.#settle(startedAt, (sector, bytes) => {
      const end = (sector + 1) * SECTOR;
      if (end > this.#synced.length) this.#synced = withLength(this.#synced, pageEnd(2 * end));
      bytes.copy(this.#synced, sector * SECTOR);
    });
    const synced = this.#lengths.findLastIndex(({ since }) => since < startedAt);
    this.#lengths = this.#lengths.slice(Math.max(synced, 0));
    this.#syncedAt = startedAt;
  }

  /**
   * Records that an fsync has failed. The kernel treats the data as written although it is not, and
   * does not try again.
   */
  lose(startedAt: number): void {
    this.#settle(startedAt, (sector) => this.#lostPages.add(pageOf(sector)));
  }

  isUnsynced(): boolean {
    return this.#sectors.size > 0 || this.#lengths.length > 1;
  }

  /**
   * Returns the file as it is on disk after a power cut. The sectors are divided into groups of
   * `together` neighbours. All sectors of a group have the content of the same moment.
   */
  afterPowerCut(moment: Moment, together: number): Buffer {
    const left = withLength(this.#synced, lastBefore(this.#lengths, moment(this.#syncedAt))?.value ?? 0);
    const moments = new Map<number, number>();
    for (const [sector, versions] of this.#sectors) {
      const unit = Math.floor(sector / together);
      const cutAt = moments.get(unit) ?? moment(this.#syncedAt);
      moments.set(unit, cutAt);
      lastBefore(versions, cutAt)?.value.copy(left, sector * SECTOR);
    }
    return left;
  }

  /** Returns the whole file as processes read it. */
  contents(): Buffer {
    return this.#read.subarray(0, this.#length);
  }

  /**
   * Records a new version of the sectors in a range. Where a failed fsync has lost data, the whole
   * page gets a new version, because the kernel writes whole pages.
   */
  #touch(start: number, end: number, at: number): void {
    for (let sector = Math.floor(start / SECTOR); sector * SECTOR < end; sector++) this.#note(sector, at);
    for (let page = Math.floor(start / PAGE); page * PAGE < end; page++) {
      if (!this.#lostPages.delete(page)) continue;
      for (let sector = (page * PAGE) / SECTOR; pageOf(sector) === page; sector++) this.#note(sector, at);
    }
  }

  #note(sector: number, at: number): void {
    const versions = this.#sectors.get(sector) ?? [];
    const value = Buffer.from(this.#read.subarray(sector * SECTOR, (sector + 1) * SECTOR));
    this.#sectors.set(sector, [...versions, { since: at, value }]);
  }

  /**
   * For each sector, calls `done` with its last version before `position`, and drops this version
   * and all earlier ones.
   */
  #settle(position: number, done: (sector: number, bytes: Buffer) => void): void {
    for (const [sector, versions] of this.#sectors) {
      const last = lastBefore(versions, position - 1);
      if (last === undefined) continue;
      done(sector, last.value);
      const rest = versions.filter(({ since }) => since >= position);
      if (rest.length > 0) this.#sectors.set(sector, rest);
      else this.#sectors.delete(sector);
    }
  }
}

function lastBefore<T>(versions: readonly Version<T>[], position: number): Version<T> | undefined {
  return versions.findLast(({ since }) => since <= position);
}

function pageOf(sector: number): number {
  return Math.floor((sector * SECTOR) / PAGE);
}

function pageEnd(offset: number): number {
  return Math.ceil(offset / PAGE) * PAGE;
}

function withLength(buffer: Buffer, length: number): Buffer {
  const copy = Buffer.alloc(length);
  buffer.copy(copy);
  return copy;
}
