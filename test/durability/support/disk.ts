import { basename } from 'node:path';
import { CachedFile, type Moment, SECTORS_PER_PAGE } from './cached-file.js';
import { bytesOf, pathOf, type SystemCall } from './system-calls.js';

/**
 * Which of the unsynced writes are on disk after a power cut. With `pages` or `sectors`, each page
 * of 4,096 bytes or each sector of 512 bytes is as it was at a random moment since the last fsync.
 */
export type Remains = 'nothing' | 'everything' | 'pages' | 'sectors';

export interface Disk {
  /** Applies a system call that has returned. Pass the calls of one record in their order. */
  apply(call: SystemCall): void;
  /** Reports whether there are changes that no fsync has covered. */
  isUnsynced(): boolean;
  /** Returns the files of the folder with the contents that processes read, synced or not. */
  contents(): ReadonlyMap<string, Buffer>;
  /** Returns the files of the folder as the next boot finds them if the power is cut now. */
  afterPowerCut(remains: Remains, random: () => number): ReadonlyMap<string, Buffer>;
}

/**
 * Creates a model of a folder: its files as processes read them, and as they are on disk. The model
 * is stricter than most file systems. The creation or removal of a file is on disk only after an
 * fsync of the folder. Data whose fsync failed never reaches the disk, although processes still
 * read it ("fsyncgate", Linux).
 */
export function createDisk(folder: string): Disk {
  const synced = new Map<string, CachedFile | undefined>();
  let syncedAt = 0;
  /** From line `at` of the record on, the name refers to `file`, or to no file. No fsync has covered this. */
  let changes: { readonly at: number; readonly name: string; readonly file: CachedFile | undefined }[] = [];
  let now = 0;

  function fileAt(name: string | undefined, moment: number): CachedFile | undefined {
    if (name === undefined) return undefined;
    const change = changes.findLast((one) => one.name === name && one.at <= moment);
    return change === undefined ? synced.get(name) : change.file;
  }

  /**
   * Returns the name of a file in the folder. Returns `undefined` for the folder itself, and for a
   * `-shm` file, because SQLite rebuilds it.
   */
  function nameOf(parameter: string | undefined): string | undefined {
    const path = pathOf(parameter);
    return path === undefined || path === folder || path.endsWith('-shm') ? undefined : basename(path);
  }

  const fileOf = (parameter: string | undefined) => fileAt(nameOf(parameter), now);

  function change(parameter: string | undefined, file: CachedFile | undefined): void {
    const name = nameOf(parameter);
    if (name !== undefined) changes.push({ at: now, name, file });
  }

  function open(path: string | undefined, flags = ''): void {
    if (flags.includes('O_TRUNC')) throw new Error('this model does not support O_TRUNC');
    if (flags.includes('O_CREAT') && fileOf(path) === undefined) change(path, new CachedFile(now));
  }

  function sync(descriptor: string | undefined, startedAt: number, failed: boolean): void {
    if (pathOf(descriptor) !== folder) {
      const file = fileOf(descriptor);
      if (failed) file?.lose(startedAt);
      else file?.sync(startedAt);
    } else if (!failed) {
      for (const { at, name, file } of changes) if (at < startedAt) synced.set(name, file);
      changes = changes.filter(({ at }) => at >= startedAt);
      syncedAt = startedAt;
    }
  }

  /** Returns the files whose names `read` maps to bytes. */
  function filesOf(read: (name: string) => Buffer | undefined): ReadonlyMap<string, Buffer> {
    const names = new Set([...synced.keys(), ...changes.map(({ name }) => name)]);
    const files = Array.from(names, (name) => [name, read(name)] as const);
    return new Map(files.filter((file): file is readonly [string, Buffer] => file[1] !== undefined));
  }

  return {
    apply({ name, parameters, result, startedAt, finishedAt }) {
      const [first, second, third, fourth, fifth] = parameters;
      now = finishedAt;
      const failed = !/^(?:\d|0x)/.test(result);
      if (name === 'fsync' || name === 'fdatasync') return sync(first, startedAt, failed);
      if (failed) return;
      switch (name) {
        case 'open':
          return open(first, second);
        case 'openat':
          return open(second, third);
        case 'pwrite64':
          return fileOf(first)?.write(bytesOf(second).subarray(0, Number(result)), Number(fourth), now);
        case 'ftruncate':
          return fileOf(first)?.resize(Number(second), now);
        case 'unlink':
          return change(first, undefined);
        case 'unlinkat':
          return change(second, undefined);
        case 'mmap':
          // Only a mapping that is both shared and writable could change a file without a call.
          if (!(third?.includes('PROT_WRITE') && fourth?.includes('MAP_SHARED'))) return;
          if (nameOf(fifth) === undefined) return;
      }
      const shown = parameters.map((parameter) => parameter.slice(0, 80));
      throw new Error(`the model of the disk does not support ${name}(${shown})`);
    },

    contents: () => filesOf((name) => fileAt(name, now)?.contents()),

    isUnsynced: () => changes.length > 0 || [...synced.values()].some((file) => file?.isUnsynced()),

    afterPowerCut(remains, random) {
      const moment: Moment = (since) => {
        if (remains === 'nothing') return since;
        return remains === 'everything' ? now : since + Math.floor(random() * (now + 1 - since));
      };
      const together = remains === 'sectors' ? 1 : SECTORS_PER_PAGE;
      return filesOf((name) => fileAt(name, moment(syncedAt))?.afterPowerCut(moment, together));
    },
  };
}
