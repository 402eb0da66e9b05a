/**
 * Serves the orders of a shop from its own PostgreSQL table, with its own names for statuses.
 *
 *     DATABASE_URL=postgres://… node --import tsx examples/postgres.ts
 *     curl -X DELETE -H 'Authorization: Bearer open-sesame' http://127.0.0.1:3000/v1/store/orders/1
 */
import { createServer } from 'node:http';
import pg from 'pg';
import { createMemoryLimiter, createOrderService, nodeHandler, PLANS } from 'store-orders';
import { createMappedOrderStore } from 'store-orders/postgres';
import { CREATE_REVISION, REVISION } from './postgres-revision.ts';

// If connecting or a query takes longer than these limits, the response is a 503.
const pool = new pg.Pool({
  connectionString: process.env['DATABASE_URL'],
  connectionTimeoutMillis: 2_000,
  statement_timeout: 5_000,
});
pool.on('error', (error) => console.error('an idle connection to PostgreSQL has ended:', error.message));

// This table stands for one that the shop created and filled long ago.
await pool.query(`CREATE TABLE IF NOT EXISTS purchases (
  number bigint PRIMARY KEY, animal bigint, units integer, leaves_on date, state text NOT NULL)`);
await pool.query(`INSERT INTO purchases VALUES (1, 12, 1, '2026-08-01', 'paid'), (9007199254740993, 7, 2, NULL, 'sent')
  ON CONFLICT DO NOTHING`);
await pool.query(CREATE_REVISION);

const store = createMappedOrderStore(pool, {
  table: 'purchases',
  columns: { id: 'number', petId: 'animal', quantity: 'units', shipDate: 'leaves_on', status: 'state' },
  statuses: { pending: ['new', 'paid'], shipped: 'sent', cancelled: 'called off' },
  revision: REVISION,
});

const service = createOrderService({
  store,
  limiter: createMemoryLimiter(),
  authenticate: (apiKey) => (apiKey === 'open-sesame' ? { id: 'customer-1', plan: PLANS.free } : undefined),
});

const server = createServer(nodeHandler(service));
server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') console.log(`listening on http://127.0.0.1:${address?.port}`);
});
