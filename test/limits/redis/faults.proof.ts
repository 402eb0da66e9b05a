import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRedisLimiter, type OnBackendError } from 'store-orders/redis';
import { spread } from '../../support/figures.js';
import { type Link, startLink } from './support/link.js';
import { nowMs, startLoading } from './support/loading.js';
import { IS_FULL } from './support/rounds.js';
import { type Server, skip, startServer } from './support/server.js';

/**
 * When figures are measured, the faults are tested one at a time at 1,000 requests per second.
 * Otherwise three faults are tested at a time, each with 150 requests per second.
 */
const PER_SECOND = IS_FULL ? 1_000 : 150;
const FAULT_MS = IS_FULL ? 4_000 : 1_500;
const CALM_MS = IS_FULL ? 2_000 : 400;
/**
 * When figures are measured, this is the limiter's default deadline. Otherwise the deadline is
 * longer, so that a busy machine does not look like a failing server.
 */
const DEADLINE_MS = IS_FULL ? 100 : 400;
/**
 * By how much a fault may delay requests, compared with a working server. The first limit applies
 * to the fastest 99 % of the requests, and the second limit applies to all.
 */
const [MOST_ADDED_MS, EVER_ADDED_MS] = IS_FULL ? [50, 100] : [2 * DEADLINE_MS, 2 * DEADLINE_MS];
const SHARED_AGAIN_MS = IS_FULL ? 2_000 : 10_000;
const KEYS = Array.from({ length: 10 }, (_, index) => `customer-${index}`);

interface Stage {
  server: Server;
  readonly link: Link;
  readonly prefix: string;
  readonly load: Awaited<ReturnType<typeof startLoading>>;
}

interface Load {
  readonly deadlineMs?: number;
  readonly quota?: number;
  readonly keys?: readonly string[];
}

async function setUp(t: TestContext, onBackendError: OnBackendError, load: Load = {}): Promise<Stage> {
  const [server, sound] = [await startServer(), await startServer()];
  const link = await startLink(server.port);
  const prefix = `${t.name}:`;
  const stops = [() => link.stop(), () => sound.stop(), () => stage.server.stop()];
  t.after(() => Promise.all(stops.map((stop) => stop())));
  const stage: Stage = {
    server,
    link,
    prefix,
    load: await startLoading(t, {
      port: link.port,
      soundPort: sound.port,
      prefix,
      onBackendError,
      deadlineMs: DEADLINE_MS,
      quota: 1e9,
      keys: KEYS,
      perSecond: PER_SECOND,
      ...load,
    }),
  };
  return stage;
}

interface Fault {
  readonly begin: (stage: Stage) => unknown;
  readonly end: (stage: Stage) => unknown;
  /** Whether the fault makes the server lose all earlier counts. */
  readonly forgets?: true;
  /** Whether the server keeps working. If so, the limiter never decides without the server. */
  readonly isHarmless?: true;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  killed: {
    begin: ({ server }) => server.stop(),
    end: async (stage) => {
      stage.server = await startServer([], stage.server.port);
    },
    forgets: true,
  },
  'stopped by SIGSTOP': {
    begin: ({ server }) => server.child.kill('SIGSTOP'),
    end: ({ server }) => server.child.kill('SIGCONT'),
  },
  [IS_FULL ? '300 ms further away' : '1.2 s further away']: {
    begin: ({ link }) => {
      link.delayMs = IS_FULL ? 150 : 600;
    },
    end: ({ link }) => {
      link.delayMs = 0;
    },
  },
  'behind a black hole': { begin: ({ link }) => link.blackhole(true), end: ({ link }) => link.blackhole(false) },
  'a read-only replica': {
    begin: ({ server }) => server.client.replicaof('127.0.0.1', 1),
    end: ({ server }) => server.client.replicaof('NO', 'ONE'),
  },
  'out of memory': {
    begin: ({ server }) => server.client.config('SET', 'maxmemory', 1),
    end: ({ server }) => server.client.config('SET', 'maxmemory', 0),
  },
  'without its scripts (SCRIPT FLUSH)': {
    begin: ({ server }) => server.client.script('FLUSH'),
    end: () => {},
    isHarmless: true,
  },
  'without its keys (FLUSHALL)': {
    begin: ({ server }) => server.client.flushall(),
    end: () => {},
    forgets: true,
    isHarmless: true,
  },
};

/**
 * Runs load before, during and after the fault. Returns the replies, and when the fault began and
 * ended.
 */
async function endure(stage: Stage, fault: Fault) {
  await sleep(CALM_MS);
  const beganMs = nowMs();
  await fault.begin(stage);
  await sleep(FAULT_MS);
  await fault.end(stage);
  const endedMs = nowMs();
  await stage.load.sharedAgain();
  await sleep(CALM_MS);
  return { ...(await stage.load.stop()), beganMs, endedMs, changes: stage.load.changes() };
}

/** Returns how many tokens were taken according to the server. */
async function takenOf({ server, prefix }: Stage, keys: readonly string[] = KEYS): Promise<number> {
  const limiter = createRedisLimiter({ send: (command) => server.client.call(...command), prefix, deadlineMs: 20_000 });
  const states = await Promise.all(keys.map((key) => limiter.inspect(key)));
  return states.reduce((sum, state) => sum + (state?.buckets[0]?.taken ?? 0), 0);
}

function quantile(durationsMs: readonly number[], part: number): number {
  const sorted = durationsMs.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

describe('the Redis limiter with a failing Redis server', { skip, concurrency: IS_FULL ? 1 : 3 }, () => {
  for (const [what, fault] of Object.entries(FAULTS)) {
    for (const onBackendError of IS_FULL ? (['local', 'open'] as const) : (['local'] as const)) {
      test(`while the server is ${what}, a limiter with onBackendError ${onBackendError} counts every request once`, {
        skip,
      }, async (t) => {
        // A harmless fault must cause no time-out. The deadline is long, so that a busy machine
        // causes none either.
        const stage = await setUp(t, onBackendError, fault.isHarmless ? { deadlineMs: 10_000 } : {});
        const { answered, soundMs, stallMs, beganMs, endedMs, changes } = await endure(stage, fault);

        const latenciesMs = answered.map((answer) => answer.endedMs - answer.startedMs);
        const back = changes.find(({ mode, atMs }) => mode === 'shared' && atMs > endedMs);
        const backMs = back === undefined ? 0 : back.atMs - endedMs;
        t.diagnostic(`${answered.length} requests, ${spread(latenciesMs)}; shared again after ${backMs.toFixed(0)} ms`);
        t.diagnostic(`sound server: ${spread(soundMs)}; longest stall of the process: ${stallMs.toFixed(1)} ms`);
        assert.deepEqual(new Set(answered.map(({ status }) => status)), new Set([200]));
        if (!fault.isHarmless) {
          const added = (part: number) => quantile(latenciesMs, part) - quantile(soundMs, part);
          const [most, ever] = [added(0.99), added(1)];
          // A pause of this whole process on a busy machine is not time spent waiting for the
          // server.
          const noiseMs = IS_FULL ? 0 : 2 * stallMs;
          assert.ok(most <= MOST_ADDED_MS + noiseMs && ever <= EVER_ADDED_MS + noiseMs, `${most} and ${ever} ms more`);
        }

        const modes = changes.map(({ mode }) => mode);
        if (fault.isHarmless) assert.deepEqual(modes, []);
        else assert.deepEqual([modes[0], modes.at(-1)], [onBackendError, 'shared']);
        const early = changes.filter(({ mode, atMs }) => mode === 'shared' && atMs > beganMs && atMs < endedMs - 200);
        assert.deepEqual(early, [], 'while the fault lasts, the limiter does not return to the server');
        assert.ok(backMs <= SHARED_AGAIN_MS + 2 * stallMs, `shared again after ${backMs} ms`);

        const taken = await takenOf(stage);
        const admitted = fault.forgets ? answered.filter((answer) => answer.endedMs > beganMs).length : answered.length;
        // Requests in flight when the server lost its memory may be counted before or after the
        // loss.
        const unsure = fault.forgets ? (PER_SECOND * (100 + 2 * stallMs)) / 1_000 : 0;
        assert.ok(Math.abs(taken - admitted) <= unsure, `${admitted} were admitted, ${taken} are charged`);
      });
    }
  }

  test('with onBackendError closed, requests get a 503 with Retry-After while Redis is stopped, and only those in flight when it stopped are charged', {
    skip,
  }, async (t) => {
    const stage = await setUp(t, 'closed');
    const { answered, changes } = await endure(stage, FAULTS['stopped by SIGSTOP'] as Fault);
    const refused = answered.filter(({ status }) => status !== 200);
    assert.ok(refused.length >= (PER_SECOND * FAULT_MS) / 1_000 / 2);
    for (const { status, retryAfter } of refused) assert.deepEqual([status, retryAfter], [503, '1']);
    // Requests that the server counted just before it was stopped get a 503, because its reply
    // comes too late.
    const unsaid = (await takenOf(stage)) - (answered.length - refused.length);
    // On a busy machine the server may be so slow that there are further outages. It may count the
    // requests in flight when such an outage begins, although they get a 503.
    const furtherOutages = changes.filter(({ mode }) => mode === 'closed').length - 1;
    const most = 5 + (furtherOutages * PER_SECOND * DEADLINE_MS) / 1_000;
    assert.ok(unsaid >= 0 && unsaid <= most, `${unsaid} requests with a 503 were charged, expected at most ${most}`);
  });

  test('with onBackendError local, a key gets its quota exactly once while Redis is stopped', { skip }, async (t) => {
    const stage = await setUp(t, 'local', { quota: 40, keys: ['customer'] });
    const { answered, beganMs, endedMs } = await endure(stage, FAULTS['stopped by SIGSTOP'] as Fault);
    const passed = answered.filter(({ status }) => status === 200);
    const meanwhile = passed.filter((answer) => answer.endedMs > beganMs && answer.endedMs < endedMs);
    assert.equal(meanwhile.length, 40, 'during the outage, the process allows exactly the quota');
    assert.ok(passed.length <= 80);
    assert.equal(answered.at(-1)?.status, 429);
    assert.equal(await takenOf(stage, ['customer']), passed.length);
  });

  test('with onBackendError open, every request is allowed while Redis is stopped, but no more than the quota are charged', {
    skip,
  }, async (t) => {
    const stage = await setUp(t, 'open', { quota: 40, keys: ['customer'] });
    const { answered, endedMs, changes } = await endure(stage, FAULTS['stopped by SIGSTOP'] as Fault);
    // Checks only requests sent after the limiter noticed the outage. Before that, the limiter may
    // repeat a refusal for up to a second without asking the server.
    const openedMs = changes[0]?.atMs ?? Number.NaN;
    const meanwhile = answered.filter((answer) => answer.startedMs > openedMs && answer.endedMs < endedMs);
    assert.deepEqual(new Set(meanwhile.map(({ status }) => status)), new Set([200]));
    assert.ok(meanwhile.length > 40);
    assert.equal(answered.at(-1)?.status, 429);
    assert.equal(await takenOf(stage, ['customer']), 80);
  });
});
