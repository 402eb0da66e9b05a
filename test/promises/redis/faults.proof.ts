import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMemoryOrderStore, createOrderService } from 'store-orders';
import { createPlan } from 'store-orders/limiter';
import { createRedisLimiter, type LimiterMode } from 'store-orders/redis';
import { connectRedis, type RedisServer, skip, startRedis } from '../../support/redis-server.js';
import { IS_FULL } from '../../support/rounds.js';
import { until } from '../../support/until.js';

const LIMITERS = 3;
const QUOTA = 40;
const PER_SECOND = IS_FULL ? 500 : 100;
const FAULT_MS = IS_FULL ? 6_000 : 2_500;
const CALM_MS = IS_FULL ? 2_000 : 500;
/** The limiter's default deadline. */
const DEADLINE_MS = 250;

interface Stage {
  /** The server whose port the limiters use. */
  readonly server: RedisServer;
  /** Whether each command and each reply is delayed. */
  isSlow: boolean;
  /** Starts another server, which stops when the test ends. */
  start(port?: number): Promise<RedisServer>;
}

interface Fault {
  readonly begin: (stage: Stage) => unknown;
  readonly end?: (stage: Stage) => unknown;
  /** How often the server loses earlier counts. Each time, a key may get its quota again. */
  readonly forgets?: number;
  /** Whether all calls are answered in time, so that the mode never changes. */
  readonly isHarmless?: true;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'sound, but the process is busy': { begin: () => repeatedly(FAULT_MS, 50, () => block(400)), isHarmless: true },
  killed: {
    begin: ({ server }) => server.stop(),
    end: ({ server, start }) => start(server.port),
    forgets: 1,
  },
  'stopped by SIGSTOP': {
    begin: ({ server }) => server.child.kill('SIGSTOP'),
    end: ({ server }) => server.child.kill('SIGCONT'),
  },
  '50 to 500 ms away': {
    begin(stage) {
      stage.isSlow = true;
    },
    end(stage) {
      stage.isSlow = false;
    },
  },
  'closing its connections': {
    begin: ({ server }) => repeatedly(FAULT_MS / 2, 150, () => server.client.call('CLIENT', 'KILL', 'TYPE', 'normal')),
  },
  'without its scripts (SCRIPT FLUSH)': { begin: ({ server }) => server.client.script('FLUSH'), isHarmless: true },
  'without its keys (FLUSHALL)': { begin: ({ server }) => server.client.flushall(), forgets: 1, isHarmless: true },
  'paused for writes (CLIENT PAUSE WRITE)': {
    begin: ({ server }) => server.client.call('CLIENT', 'PAUSE', FAULT_MS, 'WRITE'),
  },
  'a read-only replica': {
    begin: ({ server }) => server.client.replicaof('127.0.0.1', 1),
    end: ({ server }) => server.client.replicaof('NO', 'ONE'),
  },
  'out of memory': {
    begin: ({ server }) => server.client.config('SET', 'maxmemory', 1),
    end: ({ server }) => server.client.config('SET', 'maxmemory', 0),
  },
  'replaced by its replica (fail-over)': {
    begin: async ({ server, start }) => {
      const { client } = await start();
      await client.replicaof('127.0.0.1', server.port);
      await until(async () => /master_link_status:up/.test(await client.info('replication')));
      await server.stop();
      await sleep(FAULT_MS / 2);
      await client.replicaof('NO', 'ONE');
      await client.config('SET', 'port', server.port);
    },
    forgets: 1,
  },
};

async function repeatedly(forMs: number, pauseMs: number, act: () => unknown): Promise<void> {
  for (const sinceMs = performance.now(); performance.now() - sinceMs < forMs; await sleep(pauseMs)) await act();
}

function block(ms: number): void {
  for (const untilMs = performance.now() + ms; performance.now() < untilMs; );
}

async function setUp(t: TestContext): Promise<Stage> {
  async function start(port?: number): Promise<RedisServer> {
    const server = await startRedis([], port);
    t.after(server.stop);
    return server;
  }
  return { server: await start(), isSlow: false, start };
}

const hourly = (name: string, quota: number) =>
  createPlan({ name, policies: [{ name: 'hour', quota, windowMs: 3_600_000 }], ban: false });
const PLENTY = hourly('plenty', 1e9);
const SCARCE = hourly('scarce', QUOTA);

/**
 * Sends requests at a steady rate to an order service, with a limiter and a connection of its own.
 * Every fourth request has the key `scarce`. Resolves when the limiter counts in Redis.
 */
async function startLoad(stage: Stage) {
  const client = connectRedis(stage.server.port);
  /** All changes of the limiter's mode since the load began. */
  const modes: LimiterMode[] = [];
  const travel = async () => stage.isSlow && sleep((50 + Math.random() * 450) / 2);
  const limiter = createRedisLimiter({
    async send(command) {
      await travel();
      const reply = await client.call(...command);
      await travel();
      return reply;
    },
    onMode: (mode) => modes.push(mode),
  });
  const service = createOrderService({
    store: createMemoryOrderStore([{ id: 1 }]),
    limiter,
    authenticate: (id) => ({ id, plan: id === 'scarce' ? SCARCE : PLENTY }),
  });
  /** The numbers of responses, by key and status. */
  const counts: Record<string, number> = {};
  const sent: Promise<void>[] = [];
  let slowestMs = 0;

  async function request(key: string): Promise<void> {
    const startedMs = performance.now();
    const rawHeaders = ['Host', 'store.test', 'Authorization', `Bearer ${key}`];
    const { status } = await service.respond({ method: 'GET', url: '/v1/store/orders', rawHeaders });
    slowestMs = Math.max(slowestMs, performance.now() - startedMs);
    const what = `${key} ${status}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }

  // On a busy machine the first calls may be late.
  const isWarm = () =>
    limiter.reset('warm').then(
      () => limiter.mode === 'shared',
      () => false,
    );
  await until(isWarm);
  modes.length = 0;

  const beganMs = performance.now();
  let made = 0;
  const sending = setInterval(() => {
    for (; made < ((performance.now() - beganMs) * PER_SECOND) / 1_000; made++) {
      sent.push(request(made % 4 === 0 ? 'scarce' : 'plenty'));
    }
  }, 5);

  async function stop() {
    clearInterval(sending);
    await Promise.all(sent);
    client.disconnect();
    return { counts, slowestMs };
  }
  return { limiter, modes, stop };
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

describe(`${LIMITERS} limiters whose Redis server fails`, { skip, concurrency: 1 }, () => {
  for (const [what, { begin, end, forgets = 0, isHarmless }] of Object.entries(FAULTS)) {
    test(`while it is ${what}, no response is a 5xx, no request is refused in error, and each limiter grants at most one more quota`, {
      skip,
    }, async (t) => {
      const stage = await setUp(t);
      const loads = await Promise.all(Array.from({ length: LIMITERS }, () => startLoad(stage)));
      const stalls = monitorEventLoopDelay({ resolution: 5 });
      stalls.enable();
      await sleep(CALM_MS);
      await begin(stage);
      await sleep(FAULT_MS);
      await end?.(stage);
      const endedMs = performance.now();
      await until(() => loads.every(({ limiter }) => limiter.mode === 'shared'), 20_000);
      const backMs = performance.now() - endedMs;
      await sleep(CALM_MS);
      const results = await Promise.all(loads.map(({ stop }) => stop()));

      const changes = loads.map(({ modes }) => modes.join(' ') || 'none');
      const stallMs = stalls.max / 1e6;
      const slowestMs = Math.max(...results.map((result) => result.slowestMs));
      const granted = results.map(({ counts }) => counts['scarce 200'] ?? 0);
      t.diagnostic(`granted ${granted.join(' + ')} of ${QUOTA}; slowest ${slowestMs.toFixed(0)} ms`);
      t.diagnostic(`longest stall ${stallMs.toFixed(0)} ms; changes of the mode: ${changes.join(', ')}`);

      for (const what of results.flatMap(({ counts }) => Object.keys(counts))) {
        assert.match(what, /^(?:plenty 200|scarce (?:200|429))$/);
      }
      const shared = QUOTA * (1 + forgets);
      assert.ok(sum(granted) >= QUOTA && sum(granted) <= shared + LIMITERS * QUOTA);
      for (const one of granted) assert.ok(one <= shared + QUOTA);
      assert.ok(slowestMs <= DEADLINE_MS + 50 + 3 * stallMs, `${slowestMs} ms`);
      if (isHarmless) assert.deepEqual(changes, Array(LIMITERS).fill('none'));
      for (const { modes } of loads) assert.equal(modes.at(-1) ?? 'shared', 'shared');
      assert.ok(backMs <= 3_000 + 3 * stallMs, `shared again after ${backMs} ms`);
    });
  }
});
