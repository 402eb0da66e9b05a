import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlan, type OrderServiceOptions, PLANS, type Principal, perMinute } from 'store-orders';
import { createGuard } from 'store-orders/guard';
import { type Answer, assertError, createAnswer, rateLimitOf, retryAfterOf } from './support/answer.js';
import { bearer, createShop, KEY, ORDERS } from './support/shop.js';

const QUOTA = 5;
const addressPlan = createPlan({ name: 'address', partition: 'address', policies: [perMinute(QUOTA)] });
const FLOODED = '192.0.2.1';
const GET = { method: 'GET', url: ORDERS };

test('a reply says who was charged, and whether an address is over its limit; after close(), every request gets a 503 without a charge', async () => {
  const take = () => Promise.reject(new Error('down'));
  const rows: [number, readonly string[], Partial<OrderServiceOptions>, [number, string | undefined, boolean]][] = [
    [2, bearer('tiny-key'), {}, [200, 'key', false]],
    [3, bearer('tiny-key'), {}, [429, 'key', false]],
    [QUOTA, bearer('unknown-key'), {}, [401, 'address', false]],
    [QUOTA + 1, [], {}, [429, 'address', true]],
    // A key that has to be looked up is not charged to its address.
    [QUOTA + 1, KEY, { authenticateKnown: () => undefined }, [200, 'key', false]],
    [1, KEY, { limiter: { take } }, [503, undefined, false]],
  ];
  for (const [requests, rawHeaders, options, expected] of rows) {
    const { service, store } = createShop({ addressPlan, ...options });
    const respond = () => service.respond({ ...GET, rawHeaders }, FLOODED);
    for (let i = 1; i < requests; i++) await respond();
    const { status, chargedTo, isAddressOverLimit, headers } = await respond();
    assert.deepEqual([status, chargedTo, isAddressOverLimit], expected);
    assert.equal(headers.includes('close'), isAddressOverLimit, 'the connection closes only over the limit');
    const multiplexed = await service.respond({ ...GET, rawHeaders, stream: {} }, FLOODED);
    assert.ok(!multiplexed.headers.includes('Connection'), 'HTTP/2 forbids the field');
    await service.close();
    const closed = await service.respond({ method: 'DELETE', url: `${ORDERS}/1`, rawHeaders: KEY });
    assert.deepEqual([closed.status, closed.chargedTo, closed.headers.at(-1)], [503, undefined, 'close']);
    assert.equal(rateLimitOf(createAnswer(503, closed.headers, '')).limit, QUOTA);
    assert.equal(store.get(1n)?.status, 'pending');
  }
});

/**
 * Creates a service and a guard over the same parts. Keys are looked up asynchronously, as in a
 * remote table.
 */
function createParts(withKnownKeys = true, wait = async () => {}) {
  const asked: string[] = [];
  const known = new Map<string, Principal>();
  const options = {
    addressPlan,
    async authenticate(apiKey: string) {
      asked.push(apiKey);
      await wait();
      if (!apiKey.startsWith('valid-')) return undefined;
      const principal = { id: apiKey.slice(6), plan: PLANS.pro };
      known.set(apiKey, principal);
      return principal;
    },
    ...(withKnownKeys && { authenticateKnown: (apiKey: string) => known.get(apiKey) }),
  };
  const { service, limiter, clock } = createShop(options);
  const guard = createGuard({ ...options, limiter });
  const get = async (apiKey: string, address = FLOODED): Promise<Answer> => {
    const { status, headers, body } = await service.respond({ ...GET, rawHeaders: bearer(apiKey) }, address);
    return createAnswer(status, headers, String(body));
  };
  const flood = async (address = FLOODED) => {
    for (let i = 0; i < QUOTA; i++) assert.equal((await get(`made-up-${i}`, address)).status, 401);
    asked.length = 0;
  };
  return { asked, get, flood, guard, limiter, clock };
}

const statuses = async (...answers: readonly Promise<Answer>[]) =>
  (await Promise.all(answers)).map(({ status }) => status);

test('while an address is over its limit, its unseen keys are looked up one at a time, and other requests get a 429 without a charge', async () => {
  const { asked, get, flood, clock, limiter } = createParts();
  await flood();
  assert.deepEqual(await statuses(get('valid-ann'), get('made-up'), get('valid-bob')), [200, 429, 429]);
  assert.deepEqual(asked, ['valid-ann']);
  const [first, second] = await Promise.all([get('made-up'), get('valid-bob')]);
  assert.deepEqual(asked, ['valid-ann', 'made-up'], 'bob was not looked up');
  for (const refused of [first, second]) {
    assertError(refused, 'rate_limit_exceeded');
    assert.equal(rateLimitOf(refused).limit, QUOTA, 'X-RateLimit-Limit is the limit of the address');
  }
  assert.equal(limiter.peek('bob', PLANS.pro, 0).inForce.remaining, 300);
  assert.equal((await get('valid-bob')).status, 200, 'the next look-up can be for the customer');
  clock.advance(retryAfterOf(first) * 1_000);
  assert.equal((await get('made-up')).status, 401, 'a request passes after the announced Retry-After');
});

test('a key that was refused behind the look-up of another one may come back in a second, not at the end of the window', async () => {
  const { get, flood, clock } = createParts();
  await flood();
  const resetMs = clock.nowMs() + 60_000;
  clock.advance(500);
  const [madeUp, refused] = await Promise.all([get('made-up'), get('valid-ann')]);
  const fieldsOf = (answer: Answer) => [retryAfterOf(answer), rateLimitOf(answer), answer.fields.get('ratelimit')];
  const left = '"minute";r=0;t=60';
  assert.deepEqual(fieldsOf(madeUp), [60, { limit: QUOTA, remaining: 0, reset: resetMs / 1_000 }, left]);
  assert.deepEqual(fieldsOf(refused), [1, { limit: QUOTA, remaining: 0, reset: resetMs / 1_000 - 58 }, left]);
  clock.advance(1_000);
  assert.equal((await get('valid-ann')).status, 200);
});

test('a look-up that fails is charged to the address like one that finds nothing, but the look-up of a known key is not', async () => {
  let isDown = false;
  const { asked, get, limiter } = createParts(true, async () => {
    if (isDown) throw new Error('the key table is gone');
  });
  assert.equal((await get('valid-ann')).status, 200);
  isDown = true;
  const answers = [];
  for (let i = 0; i < 20; i++) answers.push(await get(`made-up-${i}`));
  const first = answers.slice(0, QUOTA);
  assert.deepEqual(
    first.map((answer) => [answer.status, rateLimitOf(answer).remaining]),
    [4, 3, 2, 1, 0].map((remaining) => [503, remaining]),
  );
  for (const answer of answers.slice(QUOTA)) assertError(answer, 'rate_limit_exceeded');
  asked.length = 0;
  const [, ...others] = await Promise.all(Array.from({ length: 20 }, (_, i) => get(`other-${i}`)));
  assert.deepEqual([asked.length, new Set(others.map(({ status }) => status))], [1, new Set([429])]);
  assert.equal((await get('valid-ann')).status, 200);

  assert.equal(limiter.peek(FLOODED, addressPlan, 0).inForce.remaining, 0);

  // Without `authenticateKnown`, every key may be one that this process knows.
  const authenticate = () => Promise.reject(new Error('down'));
  for (const options of [{ authenticate }, { authenticate, authenticateKnown: authenticate }]) {
    const shop = createShop({ addressPlan, ...options });
    const respond = () => shop.service.respond({ ...GET, rawHeaders: KEY }, FLOODED);
    for (let i = 0; i <= QUOTA; i++) assert.equal((await respond()).status, 503);
    assert.equal(shop.limiter.peek(FLOODED, addressPlan, 0).inForce.remaining, QUOTA);
  }
});

test('addresses over their limits do not wait for the look-ups of each other, nor for one that failed', async () => {
  let isDown = false;
  const { get, flood } = createParts(true, async () => {
    if (isDown) throw new Error('the key table is gone');
  });
  for (const address of [FLOODED, '192.0.2.2']) await flood(address);
  isDown = true;
  assert.equal((await get('valid-ann')).status, 429, 'the failed look-up is charged to the address');
  isDown = false;
  assert.deepEqual(await statuses(get('valid-ann'), get('valid-ann', '192.0.2.2')), [200, 200]);
});

test('an unseen key is looked up while its address has quota left, and a valid key does not use the quota of the address', async () => {
  const { get } = createParts();
  for (let i = 0; i < QUOTA - 1; i++) assert.equal((await get('made-up')).status, 401);
  const valid = Array.from({ length: 20 }, (_, i) => get(`valid-${i}`));
  assert.deepEqual(new Set(await statuses(...valid)), new Set([200]));
  assert.equal((await get('made-up')).status, 401, 'valid keys have not used the quota of the address');
  assert.equal((await get('made-up')).status, 429);
});

test('if authenticateKnown is not set, a key that was not seen before is always looked up', async () => {
  const { get, flood } = createParts(false);
  await flood();
  assert.deepEqual(await statuses(get('valid-ann'), get('made-up')), [200, 429]);
});

test('a request with a key that this process has already found valid is served even if the client address is over its limit', async () => {
  const { get, flood, guard } = createParts();
  assert.equal((await get('valid-ann')).status, 200);
  await flood();
  for (let i = 0; i < 20; i++) assert.equal((await get('valid-ann')).status, 200);
  const admit = (apiKey: string) => guard.admit({ method: 'GET', url: '/pets', rawHeaders: bearer(apiKey) }, FLOODED);
  const outcomes = await Promise.all([admit('made-up'), admit('valid-bob'), admit('valid-ann')]);
  assert.equal(outcomes.map(({ admitted }) => admitted).join(), 'false,false,true');
});
