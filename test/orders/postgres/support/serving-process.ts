// A process for list.proof.ts. Its parameters are the URL of a PostgreSQL database, and
// `streamed` to serve its orders without their revision. It sends its port to the parent process.
// Any text is a valid API key with its own quotas.
import { createServer } from 'node:http';
import pg from 'pg';
import { createMemoryLimiter, createOrderService, nodeHandler, PLANS } from 'store-orders';
import { createMappedOrderStore, createPostgresOrderStore } from 'store-orders/postgres';

const [url, way] = process.argv.slice(2);
// The test counts the connections, so none is closed for being idle, however slow the machine is.
const pool = new pg.Pool({ connectionString: url, application_name: 'serving', idleTimeoutMillis: 0 });
const columns = {
  id: 'id',
  status: 'status',
  petId: 'pet_id',
  quantity: 'quantity',
  shipDate: 'ship_date',
  complete: 'complete',
};
const service = createOrderService({
  store:
    way === 'streamed'
      ? createMappedOrderStore(pool, { table: 'store_orders', columns })
      : createPostgresOrderStore(pool),
  limiter: createMemoryLimiter(),
  authenticate: (id) => ({ id, plan: PLANS.business }),
});
const server = createServer(nodeHandler(service));
server.listen(0, '127.0.0.1', () => process.send?.(Object(server.address()).port));
process.once('disconnect', () => process.exit());
