import { basename } from 'node:path';
import { CachedFile, type Moment, SECTORS_PER_PAGE } from './cached-file.js';
import { bytesOf, pathOf, type SystemCall } from './system-calls.js';

/** Which of the unsynced writes are on disk after a power cut. */
export type Remains =
  | 'nothing'
  | 'everything'
  /**
   * Each page of 4,096 bytes, or each sector of 512 bytes, has the content that it had at a random
   * moment since the last fsync.
   */
  | 'pages'
  | 'sectors';

/** Returns a number in [0, 1). */
type Random = () => number;

/**
 * From line `since` of the record of system calls onwards, a name refers to `file`. If `file` is
 * `undefined`, no file has the name from then on.
 */
interface Entry {
  readonly since: number;
  readonly file: CachedFile | undefined;
}

export interface Disk {
  /** Applies a system call that has returned. Pass the calls of one record in their order. */
  apply(call: SystemCall): void;
  /** Reports whether there are changes that no fsync has covered. */
  isUnsynced(): boolean;
  /** Returns the files of the folder with the contents that processes read, synced or not. */
  contents(): ReadonlyMap<string, Buffer>;
  /** Returns the files of the folder as the next boot finds them if the power is cut now. */
  afterPowerCut(remains: Remains, random: Random): ReadonlyMap<string, Buffer>;
}

/**
 * Creates a model of a folder: its files as processes read them, and as they are on disk. `apply`
 * takes the system calls of the processes that write there. The model is stricter than most file
 * systems. The creation or removal of a file is on disk only after an fsync of the folder. Data
 * whose fsync failed never reaches the disk, although processes still read it ("fsyncgate", Linux).
 */
export function createDisk(folder: string): Disk {
  /**
   * For each name, the files that it has referred to, oldest first. The first one is on disk. The
   * later ones are changes that no fsync has covered.
   */
  const names = new Map<string, Entry[]>();
  let now = 0;

  /**
   * Returns the name of a file in the folder. Returns `undefined` for the folder itself, and for a
   * `-shm` file, because SQLite rebuilds it.
   */
  function nameOf(parameter: string | undefined): string | undefined {
    const path = pathOf(parameter);
    return path === undefined || path === folder || path.endsWith('-shm') ? undefined : basename(path);
  }

  function fileOf(parameter: string | undefined): CachedFile | undefined {
    const name = nameOf(parameter);
    return name === undefined ? undefined : names.get(name)?.at(-1)?.file;
  }

  function change(parameter: string | undefined, file: CachedFile | undefined): void {
    const name = nameOf(parameter);
    if (name === undefined) return;
    const entries = names.get(name) ?? [{ since: 0, file: undefined }];
    names.set(name, [...entries, { since: now, file }]);
  }

  function open([, path, flags = '']: readonly string[]): void {
    if (flags.includes('O_TRUNC')) throw new Error('this model does not support O_TRUNC');
    if (flags.includes('O_CREAT') && fileOf(path) === undefined) change(path, new CachedFile(now));
  }

  function sync({ parameters: [descriptor], startedAt }: SystemCall): void {
    if (pathOf(descriptor) !== folder) fileOf(descriptor)?.sync(startedAt);
    else
      for (const [name, entries] of names) {
        const synced = entries.findLastIndex(({ since }) => since < startedAt);
        names.set(name, entries.slice(Math.max(synced, 0)));
      }
  }

  return {
    apply(call) {
      const { name, parameters, result } = call;
      now = call.finishedAt;
      const failed = !(Number.parseInt(result, 10) >= 0) && !result.startsWith('0x');
      switch (name) {
        case 'open':
        case 'openat':
          if (!failed) open(name === 'open' ? ['', ...parameters] : parameters);
          return;
        case 'pwrite64': {
          const [descriptor, bytes, , offset] = parameters;
          if (!failed) fileOf(descriptor)?.write(bytesOf(bytes).subarray(0, Number(result)), Number(offset), now);
          return;
        }
        case 'ftruncate':
          if (!failed) fileOf(parameters[0])?.resize(Number(parameters[1]), now);
          return;
        case 'unlink':
          if (!failed) change(parameters[0], undefined);
          return;
        case 'unlinkat':
          if (!failed) change(parameters[1], undefined);
          return;
        case 'fsync':
        case 'fdatasync':
          if (!failed) sync(call);
          else if (pathOf(parameters[0]) !== folder) fileOf(parameters[0])?.lose(call.startedAt);
          return;
        case 'mmap':
          // Only a mapping that is both shared and writable could change a file without a system
          // call.
          if (!(parameters[2]?.includes('PROT_WRITE') && parameters[3]?.includes('MAP_SHARED'))) return;
          if (nameOf(parameters[4]) === undefined) return;
      }
      if (failed) return;
      throw new Error(
        `the model of the disk does not support ${name}(${parameters.map((parameter) => parameter.slice(0, 80))})`,
      );
    },

    contents() {
      const files = [...names].map(([name, entries]) => [name, entries.at(-1)?.file?.contents()] as const);
      return new Map(files.filter((file): file is readonly [string, Buffer] => file[1] !== undefined));
    },

    isUnsynced: () =>
      [...names.values()].some((entries) => entries.length > 1 || entries.at(-1)?.file?.isUnsynced() === true),

    afterPowerCut(remains, random) {
      const moment: Moment = (since) => {
        if (remains === 'nothing') return since;
        return remains === 'everything' ? now : since + Math.floor(random() * (now + 1 - since));
      };
      const left = new Map<string, Buffer>();
      for (const [name, entries] of names) {
        const cutAt = moment((entries[1]?.since ?? now) - 1);
        const file = entries.findLast(({ since }) => since <= cutAt)?.file;
        if (file !== undefined)
          left.set(name, file.afterPowerCut(moment, remains === 'sectors' ? 1 : SECTORS_PER_PAGE));
      }
      return left;
    },
  };
}
