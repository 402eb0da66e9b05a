import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const DEBIAN = '/usr/lib/postgresql';

/**
 * The folder of the PostgreSQL server's programs: the first one in PATH, otherwise that of the
 * newest version in Debian's folder. `undefined` if there is none.
 */
export const postgresPrograms = [process.env['PATH']?.split(':') ?? [], debianPrograms()].flat().find(hasServer);

function debianPrograms(): readonly string[] {
  try {
    const versions = readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a));
    return versions.map((version) => join(DEBIAN, version, 'bin'));
  } catch {
    return [];
  }
}

function hasServer(directory: string): boolean {
  try {
    execFileSync(join(directory, 'initdb'), ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
