import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, skip, startRedis } from '../../support/redis-server.js';
import { IS_FULL } from '../../support/rounds.js';
import { type Link, startLink } from './support/link.js';
import { type Load, startLoad } from './support/load.js';

const LIMITERS = 3;
const QUOTA = 40;
const PER_SECOND = IS_FULL ? 500 : 100;
const FAULT_MS = IS_FULL ? 6_000 : 2_500;
const CALM_MS = IS_FULL ? 2_000 : 500;
/** The limiter's default deadline. */
const DEADLINE_MS = 250;

interface Stage {
  /** The limiters reach the server through the link. */
  server: RedisServer;
  readonly link: Link;
  readonly loads: readonly Load[];
  /** Stops a further server when the test ends. */
  add(server: RedisServer): RedisServer;
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
  'sound, but the process is busy': {
    begin: async () => {
      for (const sinceMs = performance.now(); performance.now() - sinceMs < FAULT_MS; await sleep(50)) block(400);
    },
    isHarmless: true,
  },
  killed: {
    begin: ({ server }) => server.stop(),
    end: async (stage) => {
      stage.server = stage.add(await startRedis([], stage.server.port));
    },
    forgets: 1,
  },
  'stopped by SIGSTOP': {
    begin: ({ server }) => server.child.kill('SIGSTOP'),
    end: ({ server }) => server.child.kill('SIGCONT'),
  },
  '50 to 500 ms away': {
    begin: ({ link }) => {
      link.delayMs = () => (50 + Math.random() * 450) / 2;
    },
    end: ({ link }) => {
      link.delayMs = () => 0;
    },
  },
  'behind connections that are reset': {
    begin: async ({ link }) => {
      for (const sinceMs = performance.now(); performance.now() - sinceMs < FAULT_MS / 2; await sleep(150))
        link.reset();
    },
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
    begin: async (stage) => {
      const replica = stage.add(await startRedis());
      await replica.client.replicaof('127.0.0.1', stage.server.port);
      while (!/master_link_status:up/.test(await replica.client.info('replication'))) await sleep(20);
      await stage.server.stop();
      await sleep(FAULT_MS / 2);
      await replica.client.replicaof('NO', 'ONE');
      stage.link.toPort = replica.port;
      stage.link.reset();
    },
    forgets: 1,
  },
};

function block(ms: number): void {
  for (const untilMs = performance.now() + ms; performance.now() < untilMs; );
}

async function setUp(t: TestContext): Promise<Stage> {
  const server = await startRedis();
  const link = await startLink(server.port);
  const servers = [server];
  t.after(async () => {
    link.stop();
    await Promise.all(servers.map((one) => one.stop()));
  });
  const loads = await Promise.all(Array.from({ length: LIMITERS }, () => startLoad(link.port, PER_SECOND, QUOTA)));
  return {
    server,
    link,
    loads,
    add(other) {
      servers.push(other);
      return other;
    },
  };
}

const sum = (numbers: readonly (number | undefined)[]) => numbers.reduce<number>((all, one) => all + (one ?? 0), 0);

describe(`${LIMITERS} limiters whose Redis server fails`, { skip, concurrency: 1 }, () => {
  for (const [what, { begin, end, forgets = 0, isHarmless }] of Object.entries(FAULTS)) {
    test(`while it is ${what}, no response is a 5xx, no request is refused in error, and each limiter grants at most one more quota`, {
      skip,
    }, async (t) => {
      const stage = await setUp(t);
      const { loads } = stage;
      const stalls = monitorEventLoopDelay({ resolution: 5 });
      stalls.enable();
      await sleep(CALM_MS);
      await begin(stage);
      await sleep(FAULT_MS);
      await end?.(stage);
      const endedMs = performance.now();
      while (!loads.every(({ mode }) => mode === 'shared') && performance.now() - endedMs < 20_000) await sleep(20);
      const backMs = performance.now() - endedMs;
      await sleep(CALM_MS);
      const results = await Promise.all(loads.map(({ stop }) => stop()));

      const changes = loads.map(({ modes }) => modes.join(' ') || 'none');
      const stallMs = stalls.max / 1e6;
      const slowestMs = Math.max(...results.map((result) => result.slowestMs));
      const granted = results.map(({ scarce }) => scarce[200] ?? 0);
      t.diagnostic(`granted ${granted.join(' + ')} of ${QUOTA}; slowest ${slowestMs.toFixed(0)} ms`);
      t.diagnostic(`longest stall ${stallMs.toFixed(0)} ms; changes of the mode: ${changes.join(', ')}`);

      for (const { plenty, scarce } of results) {
        assert.deepEqual(Object.keys(plenty), ['200'], 'a key with quota is never refused');
        assert.deepEqual(
          Object.keys(scarce).filter((status) => status !== '200' && status !== '429'),
          [],
        );
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
