import { fakeStore } from '../../support/fake-store.js';
import { createShop } from './shop.js';

export const PAGE = `{"id":1,"shipDate":"${'x'.repeat(100_000)}"}`;

/** Creates a service with an endless list, and counts how often it was started and ended. */
export function createEndless(page: string | Uint8Array) {
  const counts = { started: 0, ended: 0 };
  async function* list() {
    counts.started++;
    try {
      for (;;) yield page;
    } finally {
      counts.ended++;
    }
  }
  return { service: createShop({ store: fakeStore({ list }) }).service, counts };
}
