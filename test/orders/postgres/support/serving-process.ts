// A process for list.proof.ts. Its parameters are the URL of a PostgreSQL database, and
// `streamed` to serve its orders without their revision. It sends its port to the parent process,
// and for each message how many times it has begun to read a long list.
// Any text is a valid API key with its own quotas.
import { createServer } from 'node:http';
import pg from 'pg';
import { createMemoryLimiter, createOrderService, nodeHandler, PLANS } from 'store-orders';
import { createMappedOrderStore, createPostgresOrderStore, type PostgresPool } from 'store-orders/postgres';

const [url, way] = process.argv.slice(2);
// The test counts the connections, so none is closed for being idle, however slow the machine is.
const pool = new pg.Pool({ connectionString: url, application_name: 'serving', idleTimeoutMillis: 0 });
let readings = 0;
const counted: PostgresPool = {
  query: (statement) => pool.query(statement),
  // Only a long list needs a connection of its own.
  connect(taken) {
    readings++;
    pool.connect(taken);
  },
};
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
      ? createMappedOrderStore(counted, { table: 'store_orders', columns })
      : createPostgresOrderStore(counted),
  limiter: createMemoryLimiter(),
  authenticate: (id) => ({ id, plan: PLANS.business }),
});
const server = createServer(nodeHandler(service));
server.listen(0, '127.0.0.1', () => process.send?.(Object(server.address()).port));
process.on('message', () => process.send?.(readings));
process.once('disconnect', () => process.exit());
