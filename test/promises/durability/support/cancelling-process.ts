// This program runs under strace in the tests of this folder. It carries out the given steps on the
// store in a file. It prints each result immediately, on a line such as
// `cancelled 9007199254740993`. At the end it kills itself, so that nothing is cleaned up.
import { writeSync } from 'node:fs';
import { openSqliteOrderStore } from 'store-orders/sqlite';

/** A range of orders: from the first number up to, but not including, the second. */
type Range = readonly [number, number];

export type Step =
  | { readonly put: Range }
  /** `atOnce` is the number of cancels in flight at a time. */
  | { readonly cancel: Range; readonly atOnce: number }
  | 'close'
  | 'open';

const [file = '', stepsAsText = ''] = process.argv.slice(2);
const steps: readonly Step[] = JSON.parse(stepsAsText);
let store = openSqliteOrderStore(file);
for (const step of steps) {
  if (step === 'close') await store.close();
  else if (step === 'open') store = openSqliteOrderStore(file);
  else if ('put' in step) await put(step.put);
  else await cancel(step.cancel, step.atOnce);
}
process.kill(process.pid, 'SIGKILL');

/**
 * Returns an id from 2^53 up, where only a bigint is exact. The ids of consecutive numbers are
 * spread evenly over a range of 4,001 (2,473 is this range divided by the golden ratio), so that a
 * commit writes many pages.
 */
function orderId(number: number): bigint {
  return 2n ** 53n + BigInt((number * 2_473) % 4_001);
}

async function put([first, end]: Range): Promise<void> {
  const ids = Array.from({ length: end - first }, (_, index) => orderId(first + index));
  const { outcome } = await store.put(ids.map((id) => ({ id })));
  writeSync(1, ids.map((id) => `${outcome} ${id}\n`).join(''));
}

async function cancel([first, end]: Range, atOnce: number): Promise<void> {
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
