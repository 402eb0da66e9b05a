// A process for race.proof.ts. It cancels some orders through a service and ships others at the
// same time, as fast as it can. It repeats each request until there is a reply. Then it reports the
// result of every attempt.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createMemoryLimiter, createOrderService, createPlan, perMinute } from 'store-orders';
import { createPostgresOrderStore } from 'store-orders/postgres';
import type { Operation } from './linearizable.js';

export interface Range {
  readonly first: number;
  readonly count: number;
}

export interface Report {
  readonly tries: readonly (Operation & { readonly order: number })[];
  /** Replies of the service that were neither the outcome of a cancel nor 503. */
  readonly odd: readonly string[];
  readonly connections: { readonly total: number; readonly idle: number; readonly waiting: number };
}

const AT_ONCE = 8;
const RETRY_MS = 25;
const OUTCOMES: Readonly<Record<string, string>> = {
  order_already_shipped: 'already_shipped',
  order_already_cancelled: 'already_cancelled',
  order_not_pending: 'not_pending',
  order_not_found: 'not_found',
};

const [url, seat, seats] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, application_name: 'racing', max: 5, connectionTimeoutMillis: 2_000 });
pool.on('error', () => {});
const store = createPostgresOrderStore(pool);
const plan = createPlan({ name: 'racing', policies: [perMinute(1_000_000)] });
const service = createOrderService({ store, limiter: createMemoryLimiter(), authenticate: (id) => ({ id, plan }) });
const rawHeaders = ['Host', 'orders.test', 'Authorization', 'Bearer any'];

/** Microseconds of the machine's clock, which all processes share. */
const now = () => Number(process.hrtime.bigint() / 1_000n);

async function race({ first, count }: Range): Promise<Report> {
  const tries: Report['tries'][number][] = [];
  const odd: string[] = [];
  let next = first;

  async function cancel(order: number): Promise<string | undefined> {
    const reply = await service.respond({ method: 'DELETE', url: `/v1/store/orders/${order}`, rawHeaders });
    if (reply.status === 204) return 'cancelled';
    const outcome = OUTCOMES[JSON.parse(String(reply.body)).code];
    if (outcome === undefined && reply.status !== 503) odd.push(`${reply.status} ${reply.body}`);
    return outcome;
  }

  async function take(): Promise<void> {
    while (next < first + count) {
      const order = next++;
      // One process cancels an order, and another ships it. The next order is changed by a
      // different pair of processes.
      const kind = (['cancel', 'ship'] as const)[(order + Number(seat)) % Number(seats)];
      while (kind !== undefined) {
        const start = now();
        const answer = await (kind === 'cancel' ? cancel(order) : store.ship(BigInt(order)).catch(() => undefined));
        tries.push({ order, kind, start, end: answer === undefined ? Infinity : now(), answer });
        if (answer !== undefined) break;
        await sleep(RETRY_MS);
      }
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, take));
  const { totalCount: total, idleCount: idle, waitingCount: waiting } = pool;
  return { tries, odd, connections: { total, idle, waiting } };
}

process.on('message', async (range: Range) => process.send?.(await race(range)));
process.once('disconnect', () => process.exit());
await store.migrate();
process.send?.('ready');
