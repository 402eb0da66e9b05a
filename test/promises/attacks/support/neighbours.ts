import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStorage } from '../../../../dist/program/storage/open.js';
import { startServer } from '../../../program/support/program.js';
import { MIB, mebibytes, peakBytes } from '../../../support/memory.js';
import { temporaryDirectory } from '../../../support/temporary-file.js';
import { attack, type Customer, measure } from './under-attack.js';

export interface Neighbourhood {
  /** What the strangers do; see attacking-process.ts. */
  readonly kind: string;
  /** How many connections the strangers at one address open. Those at twenty open four times as many. */
  readonly connections: number;
  readonly seconds: number;
  /** An empty PostgreSQL database, and Redis. Default: SQLite. */
  readonly urls?: { readonly DATABASE_URL: string; readonly REDIS_URL: string };
}

/**
 * A key is used only once by a customer whose keys the server has not seen. Each of the four
 * measurements has a quarter of them, however long it takes on a busy machine.
 */
const UNSEEN_KEYS = 500;
const PLAN = { name: 'enterprise', perDay: 1_000_000_000 } as const;

/** Creates a storage with keys, and returns them. */
async function issueKeys(db: string, databaseUrl: string | undefined): Promise<readonly string[]> {
  const opened = await openStorage({ db, databaseUrl }, true);
  if (!opened.ok) throw new Error(opened.message);
  const { keys, close } = opened.storage;
  const issued: string[] = [];
  while (issued.length <= UNSEEN_KEYS) {
    // On a busy machine, more at once would wait too long for a connection of the pool.
    const some = await Promise.all(Array.from({ length: 10 }, () => keys.create(PLAN)));
    issued.push(...some.map(({ key }) => key));
  }
  await close();
  return issued;
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
  let rest: string[] = [];
  const customers: Readonly<Record<string, Customer>> = {
    'open connections': {
      url,
      nextKey: () => known,
      agent: new Agent({ keepAlive: true, maxSockets: 2 }),
      pauseMs: 10,
    },
    'new connections': { url, nextKey: () => known, agent: new Agent({ maxSockets: 2 }), pauseMs: 20 },
    'unseen keys': { url, nextKey: () => rest.pop(), agent: new Agent({ maxSockets: 1 }), pauseMs: 50 },
  };
  const measureAll = (during: Promise<unknown>) => {
    rest = unseen.splice(0, UNSEEN_KEYS / 4);
    return Promise.all(
      Object.entries(customers).map(async ([who, customer]) => ({ who, ...(await measure(customer, during)) })),
    );
  };

  await measureAll(sleep(500));
  const quiet = await measureAll(sleep(seconds * 1_000));
  for (const { who, failures } of quiet) assert.deepEqual(failures, [], who);
  for (const [place, from, count] of [
    ['twenty other addresses', '20', 4 * connections],
    ['the same address', '127.0.0.1', connections],
  ] as const) {
    const attacking = attack(kind, url, seconds, count, from);
    const beside = await measureAll(attacking);
    const memoryBytes = peakBytes(server.child.pid);
    t.diagnostic(`${place}: at most ${mebibytes(memoryBytes)}; ${JSON.stringify(await attacking)}`);
    assert.ok(memoryBytes <= 256 * MIB, mebibytes(memoryBytes));
    for (const [index, { who, perSecond, p99, failures }] of beside.entries()) {
      const alone = quiet[index] ?? assert.fail();
      t.diagnostic(
        `${place}, ${who}: ${alone.perSecond.toFixed(0)} → ${perSecond.toFixed(0)} a second ` +
          `(ratio ${(perSecond / alone.perSecond).toFixed(2)}), p99 ${alone.p99.toFixed(1)} → ${p99.toFixed(1)} ms ` +
          `(ratio ${(p99 / alone.p99).toFixed(1)})`,
      );
      // While strangers use up the limit of an address, a key from there that the server has not
      // seen can be refused without a look-up.
      const isRefusedByLimit = place === 'the same address' && who === 'unseen keys';
      const unexpected = failures.filter((failure) => !(isRefusedByLimit && failure === '429'));
      assert.deepEqual(unexpected, [], `${place}, ${who}`);
      // Other work on the machine would break these bounds, so they hold only where nothing else runs.
      if (process.env['STORE_ORDERS_IDLE'] !== '1' || who === 'unseen keys') continue;
      assert.ok(p99 <= 500, `${place}, ${who}: ${p99} ms`);
      assert.ok(perSecond >= alone.perSecond / 2, `${place}, ${who}: ${perSecond} a second`);
    }
  }
  assert.equal(server.child.exitCode, null);
}
