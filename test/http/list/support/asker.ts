import { setImmediate } from 'node:timers/promises';
import { type ListedOrders, type MaybePromise, type Order, PLANS } from 'store-orders';
import { fakeStore } from '../../../support/fake-store.js';
import { createDeferred } from '../../../support/until.js';
import { bearer, createShop, ORDERS } from '../../support/shop.js';

/** Creates a service for which every key is valid, and returns a function that asks for its list. */
export function createAsker(list: () => MaybePromise<ListedOrders>) {
  const authenticate = (apiKey: string) => ({ id: apiKey, plan: PLANS.business });
  const { service } = createShop({ store: fakeStore({ list }), authenticate });
  return async (key = 'ann', isAborted = () => false) => {
    const { status, body } = await service.respond({
      method: 'GET',
      url: ORDERS,
      rawHeaders: bearer(key),
      get aborted() {
        return isAborted();
      },
    });
    const pieces = typeof body === 'object' && Symbol.asyncIterator in body ? body : [Buffer.from(body ?? '')];
    let text = '';
    for await (const piece of pieces) text += Buffer.from(piece).toString('latin1');
    return { status, text };
  };
}

/** Creates pages with a version, whose readings end when `go` is called. */
export function createReadings(pageBytes = 0) {
  const begun: { readonly version: number; readonly go: () => void }[] = [];
  let open = 0;
  let mostAtOnce = 0;
  const pages = (version: number) => ({
    version,
    async *[Symbol.asyncIterator]() {
      const { promise, resolve } = createDeferred();
      begun.push({ version, go: resolve });
      mostAtOnce = Math.max(mostAtOnce, ++open);
      yield `{"id":${version}}`.padEnd(pageBytes);
      await promise;
      open--;
    },
  });
  return { pages, begun, versions: () => begun.map(({ version }) => version), mostAtOnce: () => mostAtOnce };
}

export function manyOrders(count: number): Order[] {
  return Array.from({ length: count }, (_, id) => ({ id: BigInt(id) }));
}

/** Waits until everything that needs no other event has happened. */
export async function settled(): Promise<void> {
  for (let pass = 0; pass < 20; pass++) await setImmediate();
}
