import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CancelTask, startClient } from '../load/clients.js';
import { startServer } from '../processes/child.js';
import { onCore } from '../processes/cores.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { fillFile, ORDERS } from './orders-file.js';

const MAIN = fileURLToPath(new URL('../../dist/server/main.js', import.meta.url));
const CONNECTIONS = 64;
const ROUNDS = 5;

interface Figures {
  readonly rates: number[];
  readonly slowestMs: number[];
}

/**
 * Measures the rate of durable cancels while `db backup` copies the database file. After each
 * backup, measures the rate without a backup, for as long as the backup took.
 */
export async function cancelsDuringBackups(): Promise<Table> {
  const directory = mkdtempSync(join(tmpdir(), 'store-orders-bench-'));
  const file = join(directory, 'many.db');
  await fillFile(file);
  const server = await startServer('cancels', 'together', file);
  const canceller = startClient();
  const [alone, beside]: readonly [Figures, Figures] = [
    { rates: [], slowestMs: [] },
    { rates: [], slowestMs: [] },
  ];
  const backupsMs: number[] = [];
  let fromIndex = 0;
  try {
    await cancel(isQuick ? 10 : 1_000);
    for (let round = 0; round < rounds(ROUNDS); round++) {
      await cancel(Number.POSITIVE_INFINITY, beside, backUp(file, join(directory, `${round}.db`)));
      await cancel(backupsMs.at(-1) ?? 0, alone);
    }
  } finally {
    canceller.stop();
    server.stop();
    rmSync(directory, { recursive: true, force: true });
  }

  async function cancel(ms: number, figures?: Figures, until?: Promise<number>): Promise<void> {
    const order = { offset: 0, stride: 1, range: ORDERS, fromIndex };
    const task: CancelTask = { what: 'cancel', url: server.url, ms, connections: CONNECTIONS, ...order, perSecond: 0 };
    const durationsMs = await canceller.run(task, until);
    fromIndex += durationsMs.length;
    const backupMs = await until;
    if (backupMs !== undefined) backupsMs.push(backupMs);
    // The last cancel of each connection does not count, because it finished after the measured
    // time.
    figures?.rates.push((durationsMs.length - CONNECTIONS) / ((backupMs ?? ms) / 1_000));
    figures?.slowestMs.push(durationsMs.at(-1) ?? Number.NaN);
  }

  const rows = [
    ['no backup', alone],
    ['during a backup', beside],
  ] as const;
  return {
    title: `Durable cancels over loopback, with and without a backup of ${whole(ORDERS)} orders (the backup takes ${(median(backupsMs) / 1_000).toFixed(1)} s)`,
    head: ['meanwhile', 'a second', 'ratio to the figure without a backup (least–most)', 'slowest response, ms'],
    rows: rows.map(([name, { rates, slowestMs }]) => [
      name,
      whole(median(rates)),
      ratio(rates, alone.rates),
      Math.max(...slowestMs).toFixed(0),
    ]),
  };
}

/** Runs `db backup`. Resolves to its duration in milliseconds. */
async function backUp(file: string, copy: string): Promise<number> {
  const startMs = performance.now();
  const [command, parameters] = onCore('any', process.execPath, [MAIN, 'db', 'backup', copy, '--db', file]);
  const child = spawn(command, parameters, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`db backup exited with ${code}`);
  return performance.now() - startMs;
}
