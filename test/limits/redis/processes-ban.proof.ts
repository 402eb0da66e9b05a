import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPlan, perDay } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { connect, type Server, skip, startServer } from './support/server.js';

const AFTER = 20;

let server: Server | undefined;

before(async () => {
  if (!skip) server = await startServer();
});

after(() => server?.stop());

for (const processes of [1, 4, 10]) {
  for (const atOnce of [1, 25]) {
    test(`${processes} limiters, each with ${atOnce} concurrent requests, together ban a key after ${AFTER} refusals, plus at most 10 % for each limiter`, {
      skip,
    }, async (t) => {
      assert.ok(server);
      const { port } = server;
      const clients = Array.from({ length: processes }, () => connect(port));
      t.after(() => clients.map((client) => client.disconnect()));
      const prefix = `${processes}, ${atOnce}:`;
      const limiters = clients.map((client) =>
        createRedisLimiter({ send: (command) => client.call(...command), prefix, deadlineMs: 10_000 }),
      );
      const plan = createPlan({
        name: 'strict',
        policies: [perDay(1)],
        ban: { after: AFTER, graceMs: 1 },
      });
      await Promise.all(limiters.map((limiter) => limiter.peek('warm', plan)));
      await limiters[0]?.take('abuser', plan);
      await limiters[0]?.take('abuser', plan);
      await sleep(10);
      let strikes = 0;
      let banned = 0;
      let calls = 0;
      const abuse = async (index: number) => {
        const limiter = limiters[index] ?? assert.fail();
        for (let n = 0; n < 300; n++) {
          const decisions = await Promise.all(Array.from({ length: atOnce }, () => limiter.take('abuser', plan)));
          calls += decisions.length;
          const refused = decisions.filter(({ verdict }) => verdict === 'over_quota').length;
          strikes += refused;
          if (refused === 0 && ++banned >= processes) return;
          await sleep(1);
        }
      };
      await Promise.all(limiters.map((_, index) => abuse(index)));
      t.diagnostic(`${strikes} refusals in ${calls} requests`);
      // The refusal that causes the ban is not counted here, because its verdict is already
      // "banned".
      assert.ok(strikes >= AFTER - 1, `${strikes}`);
      assert.ok(strikes <= AFTER + (processes * AFTER) / 10, `${strikes} refusals`);
    });
  }
}
