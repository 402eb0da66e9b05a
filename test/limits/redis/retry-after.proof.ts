import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPlan } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { connectRedis, type RedisServer, skip, startRedis } from '../../support/redis-server.js';

const SLOW_MS = 40;
const SPAN_MS = 4_000;

let server: RedisServer | undefined;
let client: ReturnType<typeof connectRedis>;

before(async () => {
  if (skip) return;
  server = await startRedis();
  client = connectRedis(server.port);
});

after(async () => {
  client?.disconnect();
  await server?.stop();
});

const seconds = (ms: number) => Math.max(1, Math.ceil(ms / 1_000));

for (const [way, thereMs, backMs] of [
  ['to the server', SLOW_MS, 0],
  ['from the server', 0, SLOW_MS],
] as const) {
  test(`Retry-After is never too short, and exact to a round trip, although each message ${way} takes ${SLOW_MS} ms`, {
    skip,
  }, async (t) => {
    let sent = 0;
    const limiter = createRedisLimiter({
      deadlineMs: 1_000,
      onBackendError: 'closed',
      prefix: way,
      async send(command) {
        sent++;
        await sleep(thereMs);
        const answer = await client.call(...command);
        await sleep(backMs);
        return answer;
      },
    });
    const plan = createPlan({ name: 'long', policies: [{ name: 'long', quota: 1, windowMs: 9_700 }], ban: false });
    await limiter.peek('warm', plan);
    await limiter.take('abuser', plan);
    const resetAtMs = (await limiter.take('abuser', plan)).inForce.resetAtMs;

    const beganMs = Date.now();
    sent = 0;
    let answers = 0;
    let wrong = 0;
    const asked = new Set<Promise<void>>();
    while (Date.now() - beganMs < SPAN_MS) {
      // The server runs on this machine, so it has the same clock as this process.
      const soonestMs = Date.now();
      const request = Promise.resolve(limiter.take('abuser', plan)).then(({ retryAfterMs }) => {
        answers++;
        const longest = seconds(resetAtMs - soonestMs + 2 * SLOW_MS);
        const shortest = seconds(resetAtMs - Date.now());
        if (seconds(retryAfterMs) > longest || seconds(retryAfterMs) < shortest) wrong++;
      });
      asked.add(request);
      await sleep(1);
    }
    await Promise.all(asked);
    t.diagnostic(`${answers} answers, ${wrong} with another Retry-After, ${sent} calls`);
    assert.ok(answers > 100);
    // A few replies may have a Retry-After that the test does not expect, because the server and
    // the test may read the clock in different milliseconds.
    assert.ok(wrong <= answers / 500, `${wrong} of ${answers}`);
    // Once a second, the requests of a round trip ask the server.
    assert.ok(sent <= (2 * answers * SLOW_MS) / 1_000 + 8, `${sent} calls of ${answers}`);
  });
}
