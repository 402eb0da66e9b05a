import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { postgresPrograms } from './programs.js';

const GUARD = 'read -r _; "$0" --pgdata "$1" --mode immediate stop; rm -rf "$2"';

/** `false` if PostgreSQL is installed, otherwise the reason to skip a test. */
export const missingEngine =
  postgresPrograms === undefined && 'the PostgreSQL server is not installed: apt-get install postgresql';

/** A PostgreSQL server for one test file. It listens on a socket in its directory. */
export interface Engine {
  /** The options for `new pg.Pool()`. */
  readonly connection: { readonly host: string; readonly user: string };
  readonly url: string;
  /**
   * Returns a pool with an empty schema of its own, which all connections of the pool use. The pool
   * is closed at the end of the test file.
   */
  pool(options?: pg.PoolConfig): pg.Pool;
  start(): Promise<void>;
  /** Stops the server with all its connections, without a checkpoint. */
  crash(): Promise<void>;
}

/** Starts a server, which is stopped at the end of the test file. */
export async function startEngine(...settings: readonly string[]): Promise<Engine> {
  const directory = mkdtempSync(join(tmpdir(), 'store-orders-'));
  const data = join(directory, 'data');
  const connection = { host: directory, user: 'postgres' };
  const pools: pg.Pool[] = [];
  // PostgreSQL refuses to run as root.
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  if (account.uid !== undefined) chownSync(directory, account.uid, account.gid);

  async function run(program: string, ...operands: readonly string[]): Promise<void> {
    // The working directory is set, because the program's account might be unable to read the
    // directory of this process.
    await promisify(execFile)(join(postgresPrograms ?? '', program), operands, { ...account, cwd: directory });
  }
  const control = (...operands: readonly string[]) => run('pg_ctl', '--pgdata', data, '--wait', ...operands);
  const options = [`unix_socket_directories=${directory}`, 'listen_addresses=', ...settings];
  const start = () =>
    control('--log', join(directory, 'log'), '--options', options.map((o) => `-c '${o}'`).join(' '), 'start');
  const crash = () => control('--mode', 'immediate', 'stop');

  // The guard is a shell whose input closes when this process ends, even if the process is killed.
  // The shell then stops PostgreSQL.
  const guard = spawn('sh', ['-c', GUARD, join(postgresPrograms ?? '', 'pg_ctl'), data, directory], {
    ...account,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(guard, 'exit');
  after(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    guard.stdin.end();
    await ended;
  });
  await run(
    'initdb',
    '--pgdata',
    data,
    '--username',
    connection.user,
    '--auth',
    'trust',
    '--no-sync',
    '--locale=C',
    '--encoding=UTF8',
  );
  await start();

  return {
    connection,
    url: `postgres://${connection.user}@/postgres?host=${encodeURIComponent(directory)}`,
    start,
    crash,

    pool(options) {
      const schema = `s${pools.length}`;
      const pool = new pg.Pool({ ...connection, options: `-c search_path=${schema},public`, ...options });
      pool.on('error', () => {});
      // This query fails if another connection is creating the schema at the same moment.
      pool.on('connect', (client) => client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`).catch(() => {}));
      pools.push(pool);
      return pool;
    },
  };
}
