import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'store-orders-'));
// The folder is removed only when the process exits, because its files may be open until then.
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
