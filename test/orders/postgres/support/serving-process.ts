// A process for long-list.proof.ts. Its parameter is the URL of a PostgreSQL database. It serves
// the orders of this database, and sends its port to the parent process. Any text is a valid API
// key with its own quotas.
import { createServer } from 'node:http';
import pg from 'pg';
import { createMemoryLimiter, createOrderService, nodeHandler, PLANS } from 'store-orders';
import { createPostgresOrderStore } from 'store-orders/postgres';

const pool = new pg.Pool({ connectionString: process.argv[2], application_name: 'serving' });
const service = createOrderService({
  store: createPostgresOrderStore(pool),
  limiter: createMemoryLimiter(),
  authenticate: (id) => ({ id, plan: PLANS.business }),
});
const server = createServer(nodeHandler(service));
server.listen(0, '127.0.0.1', () => process.send?.(Object(server.address()).port));
process.once('disconnect', () => process.exit());
