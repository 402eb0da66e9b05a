import { execFile } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { postgresPrograms } from '../../test/databases/postgres/support/programs.js';
import { cpuUsOf } from './child.js';

/** Returns the reason why PostgreSQL cannot be measured here, or `undefined`. */
export function postgresIsMissing(): string | undefined {
  return postgresPrograms === undefined ? 'the PostgreSQL server is not installed' : undefined;
}

export interface PostgresServer {
  /** The directory of the server's socket. */
  readonly host: string;
  /** Creates a schema, and a pool whose connections use it. */
  pool(schema: string, connections: number): Promise<pg.Pool>;
  /**
   * Returns the processor time that all processes of the server have used so far, in microseconds.
   */
  cpuUs(): number;
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL server for the benchmarks, with the default configuration but without
 * autovacuum. The server listens on a socket in a temporary directory.
 */
export async function startPostgres(): Promise<PostgresServer> {
  const directory = mkdtempSync(join(tmpdir(), 'store-orders-bench-'));
  const data = join(directory, 'data');
  // PostgreSQL refuses to run as root, so root runs it as the user `nobody`.
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  if (account.uid !== undefined) chownSync(directory, account.uid, account.gid);
  const run = (program: string, ...operands: readonly string[]) =>
    promisify(execFile)(join(postgresPrograms ?? '', program), ['--pgdata', data, ...operands], {
      ...account,
      cwd: directory,
    });
  await run('initdb', '--username', 'postgres', '--auth', 'trust', '--no-sync', '--locale=C', '--encoding=UTF8');
  // Autovacuum is off, because it would run in some rounds and not in others.
  const options = `-c unix_socket_directories=${directory} -c listen_addresses= -c autovacuum=off`;
  await run('pg_ctl', '--wait', '--log', join(directory, 'log'), '--options', options, 'start');
  const pid = readFileSync(join(data, 'postmaster.pid'), 'latin1').split('\n')[0] ?? '';
  const pools: pg.Pool[] = [];
  return {
    host: directory,

    async pool(schema, max) {
      // 0 keeps idle connections open. PostgreSQL has a process for each connection, and the
      // processor time of that process can be read only while the connection is open.
      const idleTimeoutMillis = 0;
      const options = `-c search_path=${schema}`;
      const pool = new pg.Pool({ host: directory, user: 'postgres', max, idleTimeoutMillis, options });
      pools.push(pool);
      await pool.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
      return pool;
    },
    cpuUs() {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean);
      return [pid, ...children].reduce((sum, one) => sum + cpuUsOf(one), 0);
    },
    async stop() {
      await Promise.all(pools.map((pool) => pool.end()));
      await run('pg_ctl', '--wait', '--mode', 'immediate', 'stop');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
