import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSqliteOrderStore, openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { type Child, startServer } from './child.js';
import { cancelFor, listFor } from './clients.js';
import { cancelOneByOne } from './one-by-one.js';
import { median, ratio, type Table } from './table.js';

const ORDERS = 1_000_000;
const HALF = ORDERS / 2;
/** Coprime to `HALF`: one id after the other is somewhere else in the table, and none comes twice. */
const STRIDE = 271_829;
const CONNECTIONS = 64;
const ROUNDS = 5;
const ROUND_MS = 2_000;

/** The ids to cancel: of neighbours, as recent orders are, in one half of the table; from anywhere in the other. */
const WORKLOADS = {
  'recent orders': (index: number) => index % HALF,
  'orders anywhere': (index: number) => HALF + ((index * STRIDE) % HALF),
};
const WAYS = ['one by one', 'together'] as const;

/** Durable cancels without HTTP, each way between two rounds of the others, beside what the disk alone does. */
export async function cancelsInProcess(): Promise<Table> {
  const directory = mkdtempSync(join(tmpdir(), 'store-orders-bench-'));
  const file = join(directory, 'many.db');
  await fill(file);
  const database = openSqliteDatabase(file);
  const own = createSqliteOrderStore(database);
  const threaded = openSqliteOrderStore(file);
  const oneByOne = cancelOneByOne(database);
  const disk = await open(join(directory, 'disk'), 'w');
  const page = Buffer.alloc(4_096);
  let next = 0;
  const rows: [string, (count: number) => Promise<unknown>][] = [
    [
      'the disk: 4 KiB appended and fdatasync',
      (count) =>
        inTurn(count, async () => {
          await disk.write(page);
          await disk.datasync();
        }),
    ],
    ['one transaction per cancel', (count) => inTurn(count, () => oneByOne(BigInt(next++)))],
    ['the store, one cancel at a time', (count) => inTurn(count, () => own.cancel(BigInt(next++)))],
    ['the store on a handle, 64 at a time', (count) => atOnce(count, () => own.cancel(BigInt(next++)))],
    ['the store with its thread, 64 at a time', (count) => atOnce(count, () => threaded.cancel(BigInt(next++)))],
  ];
  const rates = rows.map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, [name, work]] of rows.entries()) {
      const count = name.includes('64') ? 12_800 : 1_000;
      const startMs = performance.now();
      await work(count);
      if (round > 0) rates[index]?.push(count / ((performance.now() - startMs) / 1_000));
    }
  }
  await threaded.close();
  await disk.close();
  database.close();
  rmSync(directory, { recursive: true, force: true });
  const [floors = []] = rates;
  return {
    title: 'Durable cancels a second in-process',
    head: ['way', 'a second', 'to the disk (least–most)'],
    rows: rows.map(([name], index) => [name, whole(median(rates[index] ?? [])), ratio(rates[index] ?? [], floors)]),
  };
}

async function inTurn(count: number, cancel: () => unknown): Promise<void> {
  for (let i = 0; i < count; i++) await cancel();
}

async function atOnce(count: number, cancel: () => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: CONNECTIONS }, () => inTurn(count / CONNECTIONS, cancel)));
}

/** Durable cancels over HTTP, and how long a list takes meanwhile; each server between two rounds of the other. */
export async function cancelsOverHttp(): Promise<Table> {
  const directory = mkdtempSync(join(tmpdir(), 'store-orders-bench-'));
  const servers: Child[] = [];
  const rows: string[][] = [];
  try {
    const [first, second] = WAYS.map((way) => join(directory, `${way}.db`));
    await fill(`${first}`);
    copyFileSync(`${first}`, `${second}`);
    for (const way of WAYS) servers.push(await startServer('cancels', way, join(directory, `${way}.db`)));
    for (const [workload, idOf] of Object.entries(WORKLOADS)) {
      const measured = await measure(servers, idOf);
      for (const [index, { rates, idleMs, busyMs }] of measured.entries()) {
        rows.push([
          `${workload}, ${WAYS[index]}`,
          whole(median(rates)),
          ratio(rates, measured[0]?.rates ?? []),
          median(idleMs).toFixed(2),
          median(busyMs).toFixed(2),
          ratio(busyMs, idleMs),
        ]);
      }
    }
  } finally {
    for (const { stop } of servers) stop();
    rmSync(directory, { recursive: true, force: true });
  }
  return {
    title: `Durable cancels over loopback, ${CONNECTIONS} keep-alive connections, and a list of ten orders meanwhile`,
    head: [
      'cancelled',
      'a second',
      'ratio (least–most)',
      'list p99, idle, ms',
      'list p99, meanwhile, ms',
      'ratio (least–most)',
    ],
    rows,
  };
}

async function measure(servers: readonly Child[], idOf: (index: number) => number) {
  const measured = servers.map(() => {
    let index = 0;
    return { nextId: () => idOf(index++), rates: [] as number[], idleMs: [] as number[], busyMs: [] as number[] };
  });
  // The first round warms up and does not count.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, { url }] of servers.entries()) {
      const subject = measured[index];
      if (subject === undefined) continue;
      const idle = await listFor(ROUND_MS / 2, url);
      const [{ rate }, busy] = await Promise.all([
        cancelFor(ROUND_MS, url, CONNECTIONS, subject.nextId),
        listFor(ROUND_MS, url),
      ]);
      if (round === 0) continue;
      subject.rates.push(rate);
      subject.idleMs.push(p99(idle));
      subject.busyMs.push(p99(busy));
    }
  }
  return measured;
}

function p99(ascending: readonly number[]): number {
  return ascending[Math.floor(ascending.length * 0.99)] ?? Number.NaN;
}

export function whole(rate: number): string {
  return Math.round(rate).toLocaleString('en');
}

export async function fill(file: string): Promise<void> {
  const store = openSqliteOrderStore(file);
  await store.put(Array.from({ length: ORDERS }, (_, id) => ({ id, petId: id % 97, quantity: 1 })));
  await store.close();
}
