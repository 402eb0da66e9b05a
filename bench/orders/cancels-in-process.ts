import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { createSqliteOrderStore, openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { temporaryDirectory } from '../../test/support/temporary-file.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { cancelOneByOne } from './one-by-one.js';
import { fillFile } from './orders-file.js';

const CALLERS = 64;
const ROUNDS = 4;

/**
 * Measures the rate of durable cancels without HTTP, and compares it with the rate of plain writes
 * to the disk. Each round measures every variant once.
 */
export async function cancelsInProcess(): Promise<Table> {
  const directory = temporaryDirectory();
  const file = join(directory, 'many.db');
  await fillFile(file);
  const database = openSqliteDatabase(file);
  const own = createSqliteOrderStore(database);
  const threaded = openSqliteOrderStore(file);
  const oneByOne = cancelOneByOne(database);
  const disk = await open(join(directory, 'disk'), 'w');
  const page = Buffer.alloc(4_096);
  let next = 0;
  const rows: [string, (count: number) => Promise<unknown>][] = [
    [
      'the disk alone: append 4 KiB, then fdatasync',
      (count) =>
        inTurn(count, async () => {
          await disk.write(page);
          await disk.datasync();
        }),
    ],
    ['one transaction per cancel', (count) => inTurn(count, () => oneByOne(BigInt(next++)))],
    ['the store, one cancel at a time', (count) => inTurn(count, () => own.cancel(BigInt(next++)))],
    ['the store on the calling thread, 64 at a time', (count) => atOnce(count, () => own.cancel(BigInt(next++)))],
    ['the store on its own thread, 64 at a time', (count) => atOnce(count, () => threaded.cancel(BigInt(next++)))],
  ];
  const rates = rows.map((): number[] => []);
  for (let round = isQuick ? 1 : 0; round <= rounds(ROUNDS); round++) {
    for (const [index, [name, work]] of rows.entries()) {
      const count = (name.includes('64') ? 12_800 : 1_000) / (isQuick ? 100 : 1);
      const startMs = performance.now();
      await work(count);
      if (round > 0) rates[index]?.push(count / ((performance.now() - startMs) / 1_000));
    }
  }
  await threaded.close();
  await disk.close();
  database.close();
  const [floors = []] = rates;
  return {
    title: 'Durable cancels per second, without HTTP',
    head: ['way', 'a second', 'ratio to the disk alone (least–most)'],
    headlines: [2],
    rows: rows.map(([name], index) => [name, whole(median(rates[index] ?? [])), ratio(rates[index] ?? [], floors)]),
  };
}

async function inTurn(count: number, cancel: () => unknown): Promise<void> {
  for (let i = 0; i < count; i++) await cancel();
}

async function atOnce(count: number, cancel: () => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: CALLERS }, () => inTurn(count / CALLERS, cancel)));
}
