import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

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

/** Mounts a file system for the test. Returns `undefined` if mounting is not allowed. */
export function mountImage(t: TestContext): MountedImage | undefined {
  const parent = mkdtempSync(join(tmpdir(), 'store-orders-'));
  const [image, directory] = [join(parent, 'image'), join(parent, 'mounted')];
  mkdirSync(directory);
  writeFileSync(image, '');
  truncateSync(image, SIZE);
  try {
    run('mkfs.ext4', '-q', image);
    run('mount', '-o', 'loop', image, directory);
  } catch {
    rmSync(parent, { recursive: true });
    return undefined;
  }
  let isFrozen = false;

  function thaw(): void {
    if (isFrozen) run('fsfreeze', '-u', directory);
    isFrozen = false;
  }

  t.after(() => {
    thaw();
    // A server of a failed test may still use the file system. A lazy unmount succeeds
    // nevertheless.
    run('umount', '--lazy', directory);
    rmSync(parent, { recursive: true });
  });
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

function run(command: string, ...parameters: readonly string[]): void {
  execFileSync(command, parameters, { stdio: 'ignore' });
}
