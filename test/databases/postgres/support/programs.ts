import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const DEBIAN = '/usr/lib/postgresql';

/** The folder of the newest PostgreSQL server's programs on this machine, or `undefined`. */
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
