import { execFileSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { temporaryDirectory, temporaryFile } from '../../support/temporary-file.js';

/** A file system that only the test uses, so that the test can make its whole disk fail. */
export interface MountedImage {
  readonly directory: string;
  /** Makes the file system read-only, as the kernel does after an error. */
  makeReadOnly(): void;
  /** Freezes the file system: from now on nothing is written, and writers wait. */
  freeze(): void;
  thaw(): void;
}

const SIZE = 32 * 2 ** 20;

/** Mounts a file system for the test. If mounting is not allowed, skips the test and returns `undefined`. */
export function mountImage(t: TestContext): MountedImage | undefined {
  const image = temporaryFile();
  writeFileSync(image, '');
  truncateSync(image, SIZE);
  let isFrozen = false;
  // This hook runs before the one that unmounts.
  t.after(thaw);
  const directory = mount(t, () => run('mkfs.ext4', '-q', image), '-o', 'loop', image);
  if (directory === undefined) return undefined;

  function thaw(): void {
    if (isFrozen && directory !== undefined) run('fsfreeze', '-u', directory);
    isFrozen = false;
  }

  return {
    directory,
    makeReadOnly: () => run('mount', '-o', 'remount,abort', directory),
    freeze() {
      run('fsfreeze', '-f', directory);
      isFrozen = true;
    },
    thaw,
  };
}

/** Mounts a disk of 2 MB in memory for the test, as {@link mountImage} does. */
export function mountSmallDisk(t: TestContext): string | undefined {
  return mount(t, () => {}, '-t', 'tmpfs', '-o', 'size=2m', 'tmpfs');
}

function mount(t: TestContext, prepare: () => void, ...options: readonly string[]): string | undefined {
  const directory = temporaryDirectory();
  try {
    prepare();
    run('mount', ...options, directory);
  } catch {
    t.skip('no file system can be mounted: run this as root on Linux, with mkfs.ext4');
    return undefined;
  }
  // A server of a failed test may still use the file system. A lazy unmount succeeds nevertheless.
  t.after(() => run('umount', '--lazy', directory));
  return directory;
}

function run(command: string, ...parameters: readonly string[]): void {
  execFileSync(command, parameters, { stdio: 'ignore' });
}
