import { basename } from 'node:path';
import { bytesOf, pathOf, type SystemCall } from './system-calls.js';

/** The kernel writes and drops whole pages. */
const PAGE = 4_096;

/**
 * Which of the unsynced changes are on disk after a power cut: none, all, or some pages, lengths
 * and names, chosen at random.
 */
export type Remains = 'nothing' | 'everything' | 'something';

/**
 * A model of a folder: its files as processes read them, and as they are on disk. The model is
 * stricter than most file systems. The creation or removal of a file is on disk only after an fsync
 * of the folder. Data whose fsync failed never reaches the disk, although processes still read it
 * ("fsyncgate", Linux).
 */
export class Disk {
  readonly #folder: string;
  readonly #files = new Map<string, CachedFile>();
  /** The files whose names are on disk. */
  #named = new Map<string, CachedFile>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Applies a system call that has returned. Pass the calls of one record in their order. */
  apply({ name, parameters, result, startedAt, finishedAt }: SystemCall) {
    const [first, second, third, fourth, fifth] = parameters;
    const failed = !/^(?:\d|0x)/.test(result);
    if (name === 'fsync' || name === 'fdatasync') return this.#sync(first, startedAt, failed);
    if (failed) return;
    switch (name) {
      case 'open':
        return this.#open(first, second);
      case 'openat':
        return this.#open(second, third);
      case 'pwrite64':
        return this.#file(first)?.write(bytesOf(second).subarray(0, Number(result)), Number(fourth), finishedAt);
      case 'ftruncate':
        return this.#file(first)?.resize(Number(second), finishedAt);
      case 'unlink':
        return this.#remove(first);
      case 'unlinkat':
        return this.#remove(second);
      case 'mmap':
        // Only a mapping that is both shared and writable could change a file without a call.
        if (!(third?.includes('PROT_WRITE') && fourth?.includes('MAP_SHARED'))) return;
        if (this.#nameOf(fifth) === undefined) return;
    }
    const shown = parameters.map((parameter) => parameter.slice(0, 80));
    throw new Error(`the model of the disk does not support ${name}(${shown})`);
  }

  /** Reports whether there are changes that no fsync has covered. */
  isUnsynced(): boolean {
    const areNamesSynced = this.#names().every((name) => this.#files.get(name) === this.#named.get(name));
    return !areNamesSynced || [...this.#files.values()].some((file) => file.isUnsynced());
  }

  /** Returns the files of the folder with the contents that processes read, synced or not. */
  contents(): ReadonlyMap<string, Buffer> {
    return new Map(Array.from(this.#files, ([name, file]) => [name, file.contents()]));
  }

  /** Returns the files of the folder as the next boot finds them if the power is cut now. */
  afterPowerCut(remains: Remains, random: () => number): ReadonlyMap<string, Buffer> {
    const isLeft = () => remains === 'everything' || (remains === 'something' && random() < 0.5);
    const left = new Map<string, Buffer>();
    for (const name of this.#names()) {
      const file = (isLeft() ? this.#files : this.#named).get(name);
      if (file !== undefined) left.set(name, file.afterPowerCut(isLeft));
    }
    return left;
  }

  #names(): readonly string[] {
    return [...new Set([...this.#files.keys(), ...this.#named.keys()])];
  }

  /**
   * Returns the name of a file in the folder. Returns `undefined` for the folder itself, and for a
   * `-shm` file, because SQLite rebuilds it.
   */
  #nameOf(parameter: string | undefined): string | undefined {
    const path = pathOf(parameter);
    return path === undefined || path === this.#folder || path.endsWith('-shm') ? undefined : basename(path);
  }

  #file(parameter: string | undefined): CachedFile | undefined {
    return this.#files.get(this.#nameOf(parameter) ?? '');
  }

  #open(path: string | undefined, flags = ''): void {
    const name = this.#nameOf(path);
    if (flags.includes('O_TRUNC')) throw new Error('this model does not support O_TRUNC');
    if (name === undefined || !flags.includes('O_CREAT') || this.#files.has(name)) return;
    this.#files.set(name, new CachedFile());
  }

  #remove(path: string | undefined): void {
    this.#files.delete(this.#nameOf(path) ?? '');
  }

  #sync(descriptor: string | undefined, startedAt: number, failed: boolean): void {
    if (pathOf(descriptor) !== this.#folder) this.#file(descriptor)?.sync(startedAt, failed);
    else if (!failed) this.#named = new Map(this.#files);
  }
}

/** A file as processes read it, and as it is on disk. */
class CachedFile {
  #read: Buffer = Buffer.alloc(0);
  #synced: Buffer = Buffer.alloc(0);
  /**
   * The pages whose changes no fsync has covered. After a failed fsync, the kernel treats pages as
   * written that are not, and does not write them until they change again.
   */
  readonly #unsynced = new Set<number>();
  #changedAt = 0;

  contents(): Buffer {
    return this.#read;
  }

  isUnsynced(): boolean {
    return this.#unsynced.size > 0 || this.#read.length !== this.#synced.length;
  }

  write(bytes: Buffer, offset: number, at: number): void {
    const end = offset + bytes.length;
    if (end > this.#read.length) this.#read = withLength(this.#read, end);
    bytes.copy(this.#read, offset);
    this.#note(offset, end, at);
  }

  resize(length: number, at: number): void {
    const before = this.#read.length;
    this.#read = withLength(this.#read, length);
    this.#note(length, before, at);
  }

  sync(startedAt: number, failed: boolean): void {
    if (this.#changedAt > startedAt) throw new Error('this model does not support a write during an fsync');
    if (!failed) this.#synced = this.afterPowerCut(() => true);
    this.#unsynced.clear();
  }

  /** Returns the file after a power cut. `isLeft` reports of each unsynced change whether it is on disk. */
  afterPowerCut(isLeft: () => boolean): Buffer {
    const left = withLength(this.#synced, (isLeft() ? this.#read : this.#synced).length);
    for (const page of this.#unsynced) {
      const start = page * PAGE;
      if (isLeft()) withLength(this.#read.subarray(start, start + PAGE), PAGE).copy(left, start);
    }
    return left;
  }

  #note(start: number, end: number, at: number): void {
    for (let page = Math.floor(start / PAGE); page * PAGE < end; page++) this.#unsynced.add(page);
    this.#changedAt = at;
  }
}

function withLength(buffer: Buffer, length: number): Buffer {
  const copy = Buffer.alloc(length);
  buffer.copy(copy);
  return copy;
}
