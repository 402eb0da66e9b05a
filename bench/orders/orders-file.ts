import { openSqliteOrderStore } from 'store-orders/sqlite';
import { isQuick } from '../processes/pace.js';

export const ORDERS = isQuick ? 10_000 : 1_000_000;

/** Creates a file of `ORDERS` pending orders, with ids from 0. */
export async function fillFile(file: string): Promise<void> {
  const store = openSqliteOrderStore(file);
  await store.put(Array.from({ length: ORDERS }, (_, id) => ({ id, petId: id % 97, quantity: 1 })));
  await store.close();
}
