// A process for processes.proof.ts. It puts 30 orders into each file whose name it receives, and
// cancels them.
import { createSqliteOrderStore } from 'store-orders/sqlite';
import { sqliteDrivers } from './drivers.js';

export interface Report {
  readonly put: string;
  /** The ids whose cancel returned `cancelled`, as text. */
  readonly cancelled: readonly string[];
}

const IDS = Array.from({ length: 30 }, (_, index) => 2n ** 53n + BigInt(index));
const driver = sqliteDrivers.find(({ name }) => name === process.argv[2]);

process.on('message', async (file) => {
  const database = driver?.open(String(file));
  if (database === undefined) throw new Error(`no driver ${process.argv[2]}`);
  const store = createSqliteOrderStore(database);
  const { outcome } = await store.put(IDS.map((id) => ({ id })));
  const cancelled: string[] = [];
  for (const id of IDS) if ((await store.cancel(id)) === 'cancelled') cancelled.push(String(id));
  database.close();
  const report: Report = { put: outcome, cancelled };
  process.send?.(report);
});
process.send?.('ready');
