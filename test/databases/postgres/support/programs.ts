import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const DEBIAN = '/usr/lib/postgresql';

/**
 * The folder that contains the PostgreSQL server's programs: the first such folder in PATH,
 * otherwise the newest version in Debian's folder. `undefined` if PostgreSQL is not installed.
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
