import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from '../../../support/postgres-server.js';
import { until } from '../../../support/until.js';

const folders = [...(process.env['PATH']?.split(':') ?? []), '/usr/sbin'];
const program = folders.map((folder) => join(folder, 'pgbouncer')).find(existsSync);

/** `false` if pgbouncer is installed, otherwise the reason to skip a test. */
export const missingPooler = program === undefined && 'pgbouncer is not installed: apt-get install pgbouncer';

const PORT = 6_432;

/**
 * Starts pgbouncer in transaction mode in front of a PostgreSQL server. It listens on a socket in the
 * directory of the server, and is stopped when this process ends. Returns a function that returns
 * the URL of a database behind it.
 */
export async function startPooler(engine: Engine, size = 4): Promise<(database: string) => string> {
  const directory = engine.connection.host;
  // pgbouncer refuses to run as root.
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const settings = join(directory, 'pgbouncer.ini');
  writeFileSync(
    settings,
    `[databases]
* = host=${directory} user=${engine.connection.user}
[pgbouncer]
pool_mode = transaction
default_pool_size = ${size}
auth_type = any
unix_socket_dir = ${directory}
listen_port = ${PORT}
`,
  );
  const child = spawn(program ?? '', [settings], { ...account, stdio: 'ignore' });
  child.unref();
  process.once('exit', () => child.kill('SIGKILL'));
  await until(() => existsSync(join(directory, `.s.PGSQL.${PORT}`)));
  return (database) =>
    `postgres://${engine.connection.user}@/${database}?host=${encodeURIComponent(directory)}&port=${PORT}`;
}
