import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'store-orders-')));
// The folder is removed only when the process exits, because a server may use its files until then.
// An earlier removal may fail, and a hook of a test that fails keeps the later hooks from running.
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

let count = 0;

/**
 * Returns the name of a file that does not exist, in a folder that is removed when the process
 * exits.
 */
export function temporaryFile(): string {
  count++;
  return join(folder, `${count}.db`);
}

/** Creates a directory, which is removed when the process exits. */
export function temporaryDirectory(): string {
  return mkdtempSync(join(folder, 'directory-'));
}
