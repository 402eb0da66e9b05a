import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGuard } from 'store-orders/guard';
import { createPlan, PLANS, perMinute } from 'store-orders/limiter';
import { createDateClock, createTestService } from 'store-orders/testing';

const authorized = (apiKey: string) => ({ headers: { Authorization: `Bearer ${apiKey}` } });

test('the fetch of a test service returns what the global fetch returns', async (t) => {
  const orders = Array.from({ length: 1_000 }, (_, id) => ({ id }));
  const service = createTestService({ orders, clock: createDateClock() });
  const listening = await service.listen();
  t.after(listening.close);
  const seenBy = async (fetch: typeof globalThis.fetch, url: string, path: string, init: RequestInit) => {
    const response = await fetch(url + path, init);
    const { status, statusText, ok, redirected, bodyUsed, body } = response;
    const copy = response.clone();
    const names = ['content-type', 'content-encoding', 'etag', 'vary', 'content-length', 'www-authenticate'];
    const urls = [response, copy, copy.clone()].map((each) => each.url.replace(url, ''));
    const fields = names.map((name) => response.headers.get(name));
    return [status, statusText, ok, redirected, bodyUsed, body === null, urls, fields, await response.text()];
  };
  const headers = { ...authorized(service.apiKey).headers, 'Accept-Encoding': 'identity' };
  for (const [path, init] of [
    ['/store/orders', { headers }],
    ['/store/orders?page=1#top', { headers }],
    ['/store/orders', { headers: { ...headers, 'If-None-Match': '*' } }],
    ['/store/orders', { headers, method: 'HEAD' }],
    ['/store/orders', {}],
    ['/store/orders/5000#x', { headers, method: 'DELETE' }],
    ['/elsewhere#/store/orders', { headers }],
  ] as const) {
    const [ours, theirs] = await Promise.all([
      seenBy(service.fetch, service.url, path, init),
      seenBy(fetch, listening.url, path, init),
    ]);
    assert.deepEqual(ours, theirs, path);
  }
  const cancelled = await seenBy(service.fetch, service.url, '/store/orders/1', { headers, method: 'DELETE' });
  assert.deepEqual(cancelled.slice(0, 3), [204, 'No Content', true]);
  for (const [fetch, url] of [
    [service.fetch, service.url],
    [globalThis.fetch, listening.url],
  ] as const) {
    const aborting = new AbortController();
    const response = await fetch(`${url}/store/orders`, { headers, signal: aborting.signal });
    aborting.abort();
    await assert.rejects(response.text(), { name: 'AbortError' });
  }
});

test('an interceptor can pass on what the fetch of a test service returns, whatever coding the client accepts', async () => {
  const { url, fetch, apiKey } = createTestService({ orders: Array.from({ length: 1_000 }, (_, id) => ({ id })) });
  for (const coding of ['gzip', 'br']) {
    const request = new Request(`${url}/store/orders`, authorized(apiKey));
    request.headers.set('Accept-Encoding', coding);
    const response = await fetch(request);
    // Older versions of MSW set the URL themselves on Node.js 24. Spies replace methods.
    Object.defineProperty(response, 'url', { value: 'https://elsewhere.test/', configurable: true });
    Object.defineProperty(response, 'clone', { value: response.clone, configurable: true });
    const { byteLength } = await response.clone().arrayBuffer();
    assert.deepEqual(
      [response.headers.get('Content-Encoding'), response.headers.get('Content-Length')],
      [null, `${byteLength}`],
    );
    assert.equal(request.headers.get('Accept-Encoding'), coding, "the client's request is left as it is");
  }
});

test('the fetch of a test service accepts a string, a URL or a Request, as the global fetch does', async () => {
  const { url, fetch, apiKey } = createTestService({ orders: [{ id: 1 }], basePath: '/shop/v2' });
  assert.equal(url, 'http://orders.test/shop/v2');
  const target = `${url}/store/orders`;
  for (const input of [target, new URL(target), new Request(target)]) {
    assert.equal(await (await fetch(input, authorized(apiKey))).text(), '[{"id":1}]');
  }
  assert.equal((await fetch('https://elsewhere.test/shop/v2/store/orders')).status, 401, 'every host is accepted');
});

test('each key has its own quota, whose size depends on the plan of the key', async () => {
  const { url, fetch, apiKey, issueKey, quota } = createTestService({ plan: PLANS.pro });
  const keys = [apiKey, issueKey(), issueKey(PLANS.business)];
  for (const key of keys) await fetch(`${url}/store/orders`, authorized(key));
  assert.deepEqual(
    keys.map((key) => quota(key).inForce.remaining),
    [298, 58, 998],
    'the next request takes a token too',
  );
});

test('quota is the decision that the next request gets: allowed, refused, or banned for a minute or the given time, with the same limits', async () => {
  const { url, fetch, apiKey, quota, exhaust, ban, clock } = createTestService();
  const expected: [status: number, result: string, retryAfter: string | null, act: () => void][] = [
    [200, 'within_quota', null, () => {}],
    [429, 'over_quota', '60', () => exhaust(apiKey)],
    [200, 'within_quota', null, () => clock.advance(60_000)],
    [429, 'banned', '60', () => ban(apiKey)],
    [200, 'within_quota', null, () => clock.advance(60_000)],
    [429, 'banned', '5', () => ban(apiKey, 5_000)],
  ];
  for (const [status, result, retryAfter, act] of expected) {
    act();
    const decision = quota(apiKey);
    const response = await fetch(`${url}/store/orders`, authorized(apiKey));
    const { headers } = response;
    assert.deepEqual([decision.result, decision.allowed, response.status], [result, status === 200, status]);
    assert.equal(headers.get('X-RateLimit-Remaining'), `${decision.inForce.remaining}`);
    assert.equal(headers.get('Retry-After'), retryAfter);
    assert.equal(decision.retryAfterMs, Number(retryAfter) * 1_000);
  }
});

test('an exhausted key gets a 429 for its next request, and a 200 after the announced wait', async () => {
  const plan = createPlan({ name: 'both', policies: [perMinute(5), { name: 'hour', quota: 7, windowMs: 3_600_000 }] });
  const { url, fetch, apiKey, exhaust, clock } = createTestService({ plan });
  const ask = () => fetch(`${url}/store/orders`, authorized(apiKey));
  for (const seconds of ['60', '3540']) {
    exhaust(apiKey);
    const refused = await ask();
    assert.deepEqual([refused.status, refused.headers.get('Retry-After')], [429, seconds]);
    clock.advance(Number(seconds) * 1_000);
    assert.equal((await ask()).status, 200);
  }
});

test("with createDateClock, quotas refill as the runner's fake timers advance", async (t) => {
  const { url, fetch, apiKey, exhaust, ban, clock } = createTestService({ clock: createDateClock() });
  const status = async () => (await fetch(`${url}/store/orders`, authorized(apiKey))).status;
  // The timers are faked only after the service was created, as in a test that enables them late.
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2030, 0) });
  exhaust(apiKey);
  assert.deepEqual([clock.nowMs(), await status()], [Date.UTC(2030, 0), 429]);
  t.mock.timers.tick(60_000);
  assert.equal(await status(), 200);
  ban(apiKey, 5_000);
  assert.equal(await status(), 429);
  clock.advance(5_000);
  assert.equal(await status(), 200, 'clock.advance moves the clock while timers are mocked');
  assert.throws(() => clock.advance(0.5), { name: 'RangeError', message: 'ms: expected a whole number' });
});

test('the functions exhaust, ban and quota throw for a key that the service has not issued', () => {
  const { exhaust, ban, quota } = createTestService();
  const expected = { name: 'RangeError', message: 'apiKey: expected a key that this test service has issued' };
  for (const ask of [exhaust, ban, quota]) assert.throws(() => ask('nobody'), expected);
});

test('a guard of the host counts against the quotas and knows the keys of the test service', async () => {
  const { limiter, authenticate, apiKey, quota, exhaust } = createTestService();
  const guard = createGuard({ limiter, authenticate });
  const head = { method: 'GET', url: '/v2/store/orders', rawHeaders: ['Authorization', `Bearer ${apiKey}`] };
  assert.equal((await guard.admit(head)).admitted, true);
  assert.equal(quota(apiKey).inForce.remaining, 58);
  exhaust(apiKey);
  assert.equal((await guard.admit(head)).admitted, false);
});
