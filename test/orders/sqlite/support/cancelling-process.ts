// A process for processes.proof.ts. It puts 200 orders into each file whose name it receives, and
// cancels them.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createSqliteOrderStore } from 'store-orders/sqlite';
import { sqliteDrivers } from './drivers.js';

export interface Report {
  readonly put: string;
  /** The ids whose cancel returned `cancelled`, as text. */
  readonly cancelled: readonly string[];
}

const IDS = Array.from({ length: 200 }, (_, index) => 2n ** 53n + BigInt(index));
const [driverName] = process.argv.slice(2);
const driver = sqliteDrivers.find(({ name }) => name === driverName);

async function putAndCancel(file: string): Promise<Report> {
  if (driver === undefined) throw new Error(`no driver ${driverName}`);
  const database = driver.open(file);
  const store = createSqliteOrderStore(database);
  const put = await store.put(IDS.map((id) => ({ id })));
  const cancelled: string[] = [];
  for (let start = 0; start < IDS.length; start += 20) {
    const group = IDS.slice(start, start + 20);
    const outcomes = await Promise.all(group.map((id) => store.cancel(id)));
    cancelled.push(...group.filter((_, index) => outcomes[index] === 'cancelled').map(String));
    await nextTurn();
  }
  await store.close();
  database.close();
  return { put: put.outcome, cancelled };
}

process.on('message', async (file) => {
  process.send?.(await putAndCancel(String(file)));
});
process.send?.('ready');
