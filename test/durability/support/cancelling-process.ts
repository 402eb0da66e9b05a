// This program runs under strace in the tests of this folder. It carries out the given steps on the
// store in a file. It prints each result immediately, on a line such as
// `cancelled 9007199254740993`. At the end it kills itself, so that nothing is cleaned up.
import { writeSync } from 'node:fs';
import {
  createSqliteOrderStore,
  openSqliteDatabase,
  openSqliteOrderStore,
  type SqliteFileOrderStore,
  type SqliteOrderStore,
} from 'store-orders/sqlite';

/**
 * Orders are numbered from 0. A range goes from the first number up to, but not including, the
 * second.
 */
export type Step = { readonly put: readonly [number, number] } | Cancels | 'close' | 'open';

interface Cancels {
  readonly cancel: readonly [number, number];
  /** How many cancels are in flight at a time. */
  readonly atOnce: number;
}

export type StoreName = keyof typeof STORES;
type Store = SqliteOrderStore | SqliteFileOrderStore;

const STORES = {
  durable: openSqliteOrderStore,
  /**
   * A store with `synchronous=NORMAL`, the default of drivers. The handle below hides this setting
   * from the store, which would reject it.
   */
  relaxed(file: string): SqliteOrderStore {
    const database = openSqliteDatabase(file);
    return createSqliteOrderStore({
      exec: (sql) => database.exec(sql.replace('synchronous = FULL', 'synchronous = NORMAL')),
      prepare: (sql) => database.prepare(sql === 'PRAGMA synchronous' ? 'SELECT 2 AS synchronous' : sql),
      close: () => database.close(),
    });
  },
};

/**
 * Returns an id from 2^53 up, where only a bigint is exact. The ids of consecutive numbers are
 * spread evenly over a range of 4,001 (2,473 is this range divided by the golden ratio), so that a
 * commit writes many pages.
 */
function orderId(number: number): bigint {
  return 2n ** 53n + BigInt((number * 2_473) % 4_001);
}

/** Returns the command line of a process that performs these steps. */
export function cancelling(file: string, steps: readonly Step[], store: StoreName = 'durable'): readonly string[] {
  return [process.execPath, '--import', 'tsx', import.meta.filename, file, store, JSON.stringify(steps)];
}

if (process.argv[1] === import.meta.filename) await perform();

async function perform(): Promise<void> {
  const [file = '', storeName, stepsAsText = ''] = process.argv.slice(2);
  const steps: readonly Step[] = JSON.parse(stepsAsText);
  const open = Object.entries(STORES).find(([name]) => name === storeName)?.[1];
  if (open === undefined) throw new Error(`no store ${storeName}`);
  let store = open(file);
  for (const step of steps) {
    if (step === 'close') await store.close();
    else if (step === 'open') store = open(file);
    else if ('put' in step) await put(store, step.put);
    else await cancel(store, step);
  }
  process.kill(process.pid, 'SIGKILL');
}

async function put(store: Store, [first, end]: readonly [number, number]): Promise<void> {
  const ids = Array.from({ length: end - first }, (_, index) => orderId(first + index));
  const { outcome } = await store.put(ids.map((id) => ({ id })));
  writeSync(1, ids.map((id) => `${outcome} ${id}\n`).join(''));
}

async function cancel(store: Store, { cancel: [first, end], atOnce }: Cancels): Promise<void> {
  let next = first;
  async function cancelOneByOne(): Promise<void> {
    while (next < end) {
      const id = orderId(next++);
      const outcome = await store.cancel(id).catch(() => 'rejected');
      writeSync(1, `${outcome} ${id}\n`);
    }
  }
  await Promise.all(Array.from({ length: atOnce }, cancelOneByOne));
}
