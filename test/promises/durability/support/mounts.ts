import { execFileSync, spawnSync } from 'node:child_process';
import type { TestContext } from 'node:test';
import { temporaryDirectory, temporaryFile } from '../../../support/temporary-file.js';

/**
 * Mounts a file system that only the test uses, so that the test can make its whole disk fail. If
 * mounting is not allowed, skips the test and returns `undefined`.
 */
export function mountImage(t: TestContext) {
  const [image, directory] = [temporaryFile(), temporaryDirectory()];
  try {
    run('mkfs.ext4', '-q', image, '32M');
    run('mount', '-o', 'loop', image, directory);
  } catch {
    t.skip('no file system can be mounted: run this as root on Linux, with mkfs.ext4');
    return undefined;
  }
  t.after(() => {
    spawnSync('fsfreeze', ['-u', directory]);
    // A server of a failed test may still use the file system. A lazy unmount succeeds nevertheless.
    run('umount', '--lazy', directory);
  });
  return {
    directory,
    /** Makes the file system read-only, as the kernel does after an error. */
    makeReadOnly: () => run('mount', '-o', 'remount,abort', directory),
    /** From now on nothing is written, and writers wait. */
    freeze: () => run('fsfreeze', '-f', directory),
    thaw: () => run('fsfreeze', '-u', directory),
  };
}

function run(command: string, ...parameters: readonly string[]): void {
  execFileSync(command, parameters, { stdio: 'ignore' });
}
