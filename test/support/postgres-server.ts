import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { reports } from './until.js';

/** Stops a server and removes its files as soon as its input ends. */
const GUARD = 'read -r _; "$0" --pgdata "$1" --mode immediate stop; rm -rf "$2"';
const DEBIAN = '/usr/lib/postgresql';
const USER = 'postgres';

/** The folder of the server's programs. */
const programs = folderOf('initdb');

/** Returns the folder of a program: the first one in PATH, or the newest version of Debian. */
function folderOf(program: string): string | undefined {
  const folders = [...(process.env['PATH']?.split(':') ?? []), ...debianFolders()];
  return folders.find((folder) => existsSync(join(folder, program)));
}

function debianFolders(): readonly string[] {
  if (!existsSync(DEBIAN)) return [];
  const versions = readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a));
  return versions.map((version) => join(DEBIAN, version, 'bin'));
}

/** `false` if PostgreSQL is installed, otherwise the reason to skip a test. */
export const missingEngine =
  programs === undefined && 'the PostgreSQL server is not installed: apt-get install postgresql';

/** Returns the SQL statements that create the contents of a database, without comments. */
export async function dumpDatabase(url: string, ...options: readonly string[]): Promise<string> {
  const operands = ['--inserts', '--no-owner', ...options, url];
  const { stdout } = await promisify(execFile)(join(folderOf('pg_dump') ?? '', 'pg_dump'), operands);
  return stdout
    .split('\n')
    .filter((line) => !/^(?:--|\\|$)/.test(line))
    .map((line) => `${line}\n`)
    .join('');
}

/** A private PostgreSQL server. It listens on a socket in its directory. */
export interface Engine {
  /** The options for `new pg.Pool()`. */
  readonly connection: { readonly host: string; readonly user: string };
  readonly url: string;
  /** Returns a pool whose connections use a schema, by default a new one. `stop` closes the pool. */
  pool(options?: pg.PoolConfig & { readonly schema?: string }): pg.Pool;
  /** Returns the process id of the server. */
  pid(): string;
  start(): Promise<void>;
  /** Starts a standby, which replicates this server until it is promoted. */
  startStandby(...settings: readonly string[]): Promise<Engine>;
  promote(): Promise<void>;
  /** Stops the server with all its connections, without a checkpoint. */
  crash(): Promise<void>;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

/** Starts a server for one test file, which is stopped at the end of the file. */
export async function startEngine(...settings: readonly string[]): Promise<Engine> {
  const engine = await startPostgres(...settings);
  after(engine.stop);
  return engine;
}

export function startPostgres(...settings: readonly string[]): Promise<Engine> {
  const access = ['--username', USER, '--auth', 'trust'];
  return startCluster(settings, 'initdb', ...access, '--no-sync', '--locale=C', '--encoding=UTF8');
}

/**
 * Starts a server over the files that a program creates. It is also stopped when this process ends,
 * even if the process is killed.
 */
async function startCluster(settings: readonly string[], creator: string, ...operands: string[]): Promise<Engine> {
  const directory = mkdtempSync(join(tmpdir(), 'store-orders-'));
  const data = join(directory, 'data');
  const connection = { host: directory, user: USER };
  const pools: pg.Pool[] = [];
  // PostgreSQL refuses to run as root.
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  if (account.uid !== undefined) chownSync(directory, account.uid, account.gid);

  async function run(program: string, ...operands: readonly string[]): Promise<void> {
    // The program's account might be unable to read the working directory of this process.
    await promisify(execFile)(join(folderOf(program) ?? '', program), operands, { ...account, cwd: directory });
  }
  const control = (...operands: readonly string[]) =>
    run('pg_ctl', '--pgdata', data, '--wait', '--timeout=600', ...operands);
  const options = [`unix_socket_directories=${directory}`, 'listen_addresses=', ...settings];
  const log = join(directory, 'log');
  const report = () => `PostgreSQL in ${directory} logged:\n${existsSync(log) ? readFileSync(log, 'utf8') : ''}`;
  const start = () =>
    control('--log', log, '--options', options.map((o) => `-c '${o}'`).join(' '), 'start').catch((error) => {
      throw new Error(report().slice(-2_000), { cause: error });
    });
  const crash = () => control('--mode', 'immediate', 'stop');

  // The input of the guard ends when this process ends, however that happens.
  const guard = spawn('sh', ['-c', GUARD, join(programs ?? '', 'pg_ctl'), data, directory], {
    ...account,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(guard, 'exit');
  try {
    await run(creator, '--pgdata', data, ...operands);
    await start();
  } catch (error) {
    guard.stdin.end();
    throw error;
  }
  reports.add(report);

  return {
    connection,
    url: `postgres://${connection.user}@/postgres?host=${encodeURIComponent(directory)}`,
    start,
    crash,
    promote: () => control('promote'),

    startStandby: (...standbySettings) => {
      const source = ['--host', directory, '--username', USER];
      const options = ['--write-recovery-conf', '--checkpoint=fast', '--no-sync'];
      return startCluster(standbySettings, 'pg_basebackup', ...source, ...options);
    },

    pid: () => readFileSync(join(data, 'postmaster.pid'), 'latin1').split('\n')[0] ?? '',

    pool({ schema = `s${pools.length}`, ...options } = {}) {
      const pool = new pg.Pool({
        ...connection,
        options: `-c search_path=${schema},public`,
        // This query fails if another connection is creating the schema at the same moment.
        onConnect: (client) => client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`).catch(() => {}),
        ...options,
      });
      pool.on('error', () => {});
      pools.push(pool);
      return pool;
    },

    async stop() {
      reports.delete(report);
      await Promise.all(pools.map((pool) => pool.end()));
      guard.stdin.end();
      await ended;
    },
  };
}
