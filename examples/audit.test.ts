/**
 * Starts a server, and checks it against each clause of the specification, over a socket. If
 * `STORE_ORDERS_URL` and `STORE_ORDERS_KEY` are set, it checks the server at that URL instead. It
 * then skips the clauses that need orders and keys created for the test.
 *
 *     node --import tsx --test examples/audit.test.ts
 */
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { nodeHandler } from 'store-orders';
import { type AuditTarget, createTestService, serviceAudits } from 'store-orders/testing';

const { STORE_ORDERS_URL: url, STORE_ORDERS_KEY: apiKey } = process.env;

async function ownServer(): Promise<AuditTarget> {
  const shop = createTestService();
  const server = createServer(nodeHandler(shop.service));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return { ...shop, url: `http://127.0.0.1:${port}/v1`, fetch: globalThis.fetch };
}

const target = url !== undefined && apiKey !== undefined ? { url, apiKey } : await ownServer();
for (const { name, skip, run } of serviceAudits(target)) test(name, { skip: skip ?? false }, run);
