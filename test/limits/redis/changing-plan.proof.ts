import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createPlan, type Decision, type Plan, perDay } from 'store-orders/limiter';
import { createRedisLimiter, type SendCommand } from 'store-orders/redis';
import { createManualClock } from 'store-orders/testing';
import { connectRedis, type RedisServer, skip, startRedis } from '../../support/redis-server.js';

let server: RedisServer | undefined;
let client: ReturnType<typeof connectRedis>;
const send: SendCommand = (command) => client.call(...command);

before(async () => {
  if (skip) return;
  server = await startRedis();
  client = connectRedis(server.port);
});

after(async () => {
  client?.disconnect();
  await server?.stop();
});

/** Creates a plan that is not frozen, so that a test can change its quota in place. */
function loosePlan(quota: number) {
  const plan = createPlan({ name: 'loose', policies: [perDay(quota)], ban: false });
  const [policy = assert.fail()] = plan.policies.map((one) => ({ ...one }));
  return { plan: { ...plan, policies: [policy] } satisfies Plan, policy };
}

test('after a change of the quota in a plan object, the next request uses the new quota', { skip }, async () => {
  const limiter = createRedisLimiter({ send, deadlineMs: 10_000, onBackendError: 'closed', prefix: 'smaller:' });
  const { plan, policy } = loosePlan(1_000);
  await limiter.take('customer', plan);
  policy.quota = 5;
  let admitted = 1;
  for (let n = 0; n < 20; n++) if ((await limiter.take('customer', plan)).allowed) admitted++;
  assert.equal(admitted, 5);
  policy.quota = 7;
  assert.equal((await limiter.take('customer', plan)).inForce.remaining, 1);
});

test('a decision uses the values that the plan had when the request was made', { skip }, async () => {
  const limiter = createRedisLimiter({ send, deadlineMs: 10_000, onBackendError: 'closed', prefix: 'meanwhile:' });
  for (const method of ['take', 'peek'] as const) {
    const { plan, policy } = loosePlan(5);
    const asked = limiter[method](`customer, ${method}`, plan, 5);
    policy.quota = 1_000;
    const decision = await asked;
    assert.equal(decision.inForce.remaining, 0);
    assert.equal(decision.inForce.policy.quota, 5);
  }
});

test('refusals are cached even if each request passes a new plan object with equal content', { skip }, async () => {
  let sent = 0;
  const counting: SendCommand = (command, key) => {
    sent++;
    return send(command, key);
  };
  const clock = createManualClock();
  const limiter = createRedisLimiter({ send: counting, clock, deadlineMs: 10_000, prefix: 'equal:' });
  const decisions: Decision[] = [];
  for (let n = 0; n < 50; n++) decisions.push(await limiter.take('customer', loosePlan(1).plan));
  assert.deepEqual(new Set(decisions.slice(1).map(({ verdict }) => verdict)), new Set(['over_quota']));
  assert.ok(sent <= 4, `${sent} calls`);
});

test('the limiter treats a Redis server whose reply contradicts the plan as failing', { skip }, async () => {
  const disagreeing: SendCommand = async (command, key) => {
    const answer = await send(command, key);
    assert.ok(Array.isArray(answer));
    // The reply is the time, -1 because the request passes, then two numbers for the only window.
    return [answer[0], answer[1], 6, answer[3]];
  };
  const limiter = createRedisLimiter({ send: disagreeing, deadlineMs: 10_000, onBackendError: 'closed' });
  await assert.rejects(async () => limiter.take('customer', createPlan({ name: 'five', policies: [perDay(5)] })), {
    message: 'the request cannot be counted',
  });
});
