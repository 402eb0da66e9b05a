import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStorage } from '../../../../dist/server/storage/open.js';
import { temporaryDirectory } from '../../../support/temporary-file.js';
import { startServer } from '../../support/program.js';
import { attack, type Customer, customer, quantile, residentMiB } from './under-attack.js';

export interface Neighbourhood {
  /** What the strangers do; see attacking-process.ts. */
  readonly kind: string;
  /** How many connections the strangers at one address open. Those at twenty open four times as many. */
  readonly connections: number;
  readonly seconds: number;
  /** An empty PostgreSQL database, and Redis. Default: SQLite. */
  readonly urls?: { readonly DATABASE_URL: string; readonly REDIS_URL: string };
}

/** A key is used only once by a customer whose keys the server has not seen. */
const UNSEEN_KEYS = 500;
const PLAN = { name: 'enterprise', perDay: 1_000_000_000 } as const;

/** Creates a storage with keys, and returns them. */
async function issueKeys(db: string, databaseUrl: string | undefined): Promise<readonly string[]> {
  const opened = await openStorage({ db, databaseUrl }, true);
  if (!opened.ok) throw new Error(opened.message);
  const { keys, close } = opened.data;
  const issued = await Promise.all(Array.from({ length: 1 + UNSEEN_KEYS }, () => keys.create(PLAN)));
  await close();
  return issued.map(({ key }) => key);
}

/**
 * Measures customers of the program alone, beside strangers at twenty other addresses, and beside
 * strangers at their own address. The program has a heap of 512 MB.
 */
export async function besideStrangers(
  t: TestContext,
  { kind, connections, seconds, urls }: Neighbourhood,
): Promise<void> {
  const cwd = temporaryDirectory();
  const [known = '', ...unseen] = await issueKeys(join(cwd, 'store-orders.db'), urls?.DATABASE_URL);
  const env = { NODE_OPTIONS: '--max-old-space-size=512', ...urls };
  const server = await startServer(t, { cwd, env }, '--log', 'events');
  const url = new URL(`${server.url}/store/orders`);
  const customers: Readonly<Record<string, Customer>> = {
    'open connections': customer(url, () => known, 2, 10),
    'new connections': customer(url, () => known, 2, 20, true),
    'unseen keys': customer(url, () => unseen.pop() ?? '', 1, 50, true),
  };
  const stop = () => Promise.all(Object.values(customers).map((customer) => customer.stop()));
  t.after(stop);

  async function measure(during: () => Promise<unknown>) {
    for (const { take } of Object.values(customers)) take();
    const startMs = performance.now();
    const figures = await during();
    const passedS = (performance.now() - startMs) / 1_000;
    const shares = Object.entries(customers).map(([who, { take }]) => {
      const latencies = take();
      return { who, perSecond: latencies.length / passedS, p99: quantile(latencies, 0.99) };
    });
    return { figures, shares };
  }

  await sleep(500);
  const quiet = await measure(() => sleep(seconds * 1_000));
  for (const [place, from, count] of [
    ['twenty other addresses', '20', 4 * connections],
    ['the same address', '127.0.0.1', connections],
  ] as const) {
    const beside = await measure(() => attack(kind, url, seconds, count, from));
    const memoryMiB = residentMiB(server.child.pid);
    t.diagnostic(`${place}: ${memoryMiB.toFixed(0)} MiB; ${JSON.stringify(beside.figures)}`);
    assert.ok(memoryMiB <= 256, `${memoryMiB} MiB`);
    for (const [index, { who, perSecond, p99 }] of beside.shares.entries()) {
      const alone = quiet.shares[index] ?? assert.fail();
      t.diagnostic(
        `${place}, ${who}: ${alone.perSecond.toFixed(0)} → ${perSecond.toFixed(0)} a second ` +
          `(ratio ${(perSecond / alone.perSecond).toFixed(2)}), p99 ${alone.p99.toFixed(1)} → ${p99.toFixed(1)} ms ` +
          `(ratio ${(p99 / alone.p99).toFixed(1)})`,
      );
      // Other work on the machine would break these bounds, so they hold only where nothing else
      // runs. Keys that the server has not seen may be refused at the same address; see below.
      if (process.env['STORE_ORDERS_IDLE'] !== '1' || who === 'unseen keys') continue;
      assert.ok(p99 <= 500, `${place}, ${who}: ${p99} ms`);
      assert.ok(perSecond >= alone.perSecond / 2, `${place}, ${who}: ${perSecond} a second`);
    }
    for (const [who, { failures }] of Object.entries(customers)) {
      // While strangers use up the limit of an address, a key from there that the server has not
      // seen can be refused without a look-up.
      const isRefusedByLimit = place === 'the same address' && who === 'unseen keys';
      const unexpected = failures.filter((failure) => !(isRefusedByLimit && failure === '429'));
      assert.deepEqual(unexpected, [], `${place}, ${who}`);
    }
  }
  await stop();
  assert.equal(server.child.exitCode, null);
}
