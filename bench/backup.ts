import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fill, whole } from './cancels.js';
import { startServer } from './child.js';
import { type CancelFigures, cancelFor } from './clients.js';
import { median, ratio, type Table } from './table.js';

const MAIN = fileURLToPath(new URL('../dist/server/main.js', import.meta.url));
const CONNECTIONS = 64;
const ROUNDS = 5;

/** Durable cancels while `db backup` copies the file, each backup between two times without one that are as long. */
export async function cancelsDuringBackups(): Promise<Table> {
  const directory = mkdtempSync(join(tmpdir(), 'store-orders-bench-'));
  const file = join(directory, 'many.db');
  await fill(file);
  const { url, stop } = await startServer('cancels', 'together', file);
  const measured = new Map<string, CancelFigures[]>([
    ['no backup', []],
    ['during a backup', []],
  ]);
  const backupsMs: number[] = [];
  let next = 0;
  const cancelDuring = async (name: string, period: number | Promise<unknown>) => {
    const figures = await cancelFor(period, url, CONNECTIONS, () => next++);
    measured.get(name)?.push(figures);
  };
  try {
    await cancelFor(1_000, url, CONNECTIONS, () => next++);
    for (let round = 0; round < ROUNDS; round++) {
      const startMs = performance.now();
      await cancelDuring('during a backup', backUp(file, join(directory, `${round}.db`)));
      const tookMs = performance.now() - startMs;
      backupsMs.push(tookMs);
      await cancelDuring('no backup', tookMs);
    }
  } finally {
    stop();
    rmSync(directory, { recursive: true, force: true });
  }
  const ratesOf = (figures: readonly CancelFigures[]) => figures.map(({ rate }) => rate);
  const floors = ratesOf(measured.get('no backup') ?? []);
  return {
    title: `Durable cancels over loopback while a million orders are backed up, which takes ${(median(backupsMs) / 1_000).toFixed(1)} s`,
    head: ['meanwhile', 'a second', 'ratio (least–most)', 'slowest answer of all, ms'],
    rows: [...measured].map(([name, figures]) => [
      name,
      whole(median(ratesOf(figures))),
      ratio(ratesOf(figures), floors),
      Math.max(...figures.map(({ slowestMs }) => slowestMs)).toFixed(0),
    ]),
  };
}

async function backUp(file: string, copy: string): Promise<void> {
  const child = spawn(process.execPath, [MAIN, 'db', 'backup', copy, '--db', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`db backup ended with ${code}`);
}
