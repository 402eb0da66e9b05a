import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MAIN } from '../../test/program/support/run.js';
import { temporaryFile } from '../../test/support/temporary-file.js';
import { cpuUsOf } from '../processes/child.js';
import { rounds } from '../processes/pace.js';
import { median, printSpread } from '../report/statistics.js';
import type { Table } from '../report/table.js';

const BARE = `require('node:http').createServer((_, response) => response.end('[]')).listen(process.argv[1], '127.0.0.1')`;
const RIVAL = fileURLToPath(new URL('../servers/rivals/fastify-sqlite.mjs', import.meta.url));
const PORT = 18_431;
const ROUNDS = 20;

/**
 * Measures the time from the start of a server's process to its first list. The database file
 * exists already, and has been opened before.
 */
export async function start(): Promise<Table> {
  const db = ['--db', temporaryFile()];
  const created = spawnSync(process.execPath, [MAIN, 'keys', 'create', '--plan', 'business', '--json', ...db]);
  const { key } = JSON.parse(created.stdout.toString());
  const servers = [
    server('bare `node:http`', ['--eval', BARE, `${PORT}`]),
    server('`store-orders serve`', [MAIN, 'serve', '--port', `${PORT}`, ...db]),
    server('Fastify, pino, SQLite, rate-limiter-flexible', [RIVAL, '--port', `${PORT}`, ...db]),
  ];
  // The first round opens the file once and fills the cache of the system. Its figures are not
  // used.
  for (let round = -1; round < rounds(ROUNDS); round++) {
    for (const { parameters, wallMs, cpuMs } of servers) {
      const startMs = performance.now();
      const child = spawn(process.execPath, parameters, { stdio: 'ignore', env: { ...process.env, API_KEY: key } });
      while ((await statusOf(key)) !== 200) await wait(1);
      if (round >= 0) {
        wallMs.push(performance.now() - startMs);
        cpuMs.push(cpuUsOf(`${child.pid}`) / 1_000);
      }
      await stop(child);
    }
  }
  return {
    title: 'Time from the start of a server process to its first list of orders, medians of 20 starts',
    head: ['server', 'ms (least–most)', 'ms of processor time, all threads'],
    headlines: [1],
    rows: servers.map(({ name, wallMs, cpuMs }) => [name, printSpread(wallMs), median(cpuMs).toFixed(0)]),
  };
}

function server(name: string, parameters: readonly string[]) {
  const [wallMs, cpuMs]: readonly [number[], number[]] = [[], []];
  return { name, parameters, wallMs, cpuMs };
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill();
  await exited;
}

/**
 * Requests the list. Resolves to the status of the response, or to `undefined` while no server
 * listens.
 */
function statusOf(key: string): Promise<number | undefined> {
  const headers = { Authorization: `Bearer ${key}` };
  return new Promise((resolve) => {
    get({ port: PORT, path: '/v1/store/orders', headers, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    }).once('error', () => resolve(undefined));
  });
}
