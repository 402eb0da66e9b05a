import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../support/listen.js';
import { startProgram } from '../../../support/outer-environment.js';
import type { Engine } from '../../../support/postgres-server.js';

const folders = [...(process.env['PATH']?.split(':') ?? []), '/usr/sbin'];
const program = folders.map((folder) => join(folder, 'pgbouncer')).find(existsSync);

/** `false` if pgbouncer is installed, otherwise the reason to skip a test. */
export const missingPooler = program === undefined && 'pgbouncer is not installed: apt-get install pgbouncer';

/**
 * Starts pgbouncer in transaction mode in front of a PostgreSQL server. It gives each connection of
 * a program another application_name, and is stopped when this process ends. Returns a function that
 * returns the URL of a database behind it.
 */
export async function startPooler(engine: Engine, size = 4): Promise<(database: string) => string> {
  const directory = engine.connection.host;
  // pgbouncer refuses to run as root.
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const port = await freePort();
  const settings = join(directory, 'pgbouncer.ini');
  writeFileSync(
    settings,
    `[databases]
* = host=${directory} user=${engine.connection.user}
[pgbouncer]
pool_mode = transaction
default_pool_size = ${size}
auth_type = any
application_name_add_host = 1
unix_socket_dir = ${directory}
listen_addr = 127.0.0.1
listen_port = ${port}
`,
  );
  const isReady = () => existsSync(join(directory, `.s.PGSQL.${port}`));
  const child = await startProgram(program ?? '', [settings], isReady, account);
  child.unref();
  process.once('exit', () => child.kill('SIGKILL'));
  return (database) => `postgres://${engine.connection.user}@127.0.0.1:${port}/${database}`;
}
