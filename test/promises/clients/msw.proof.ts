import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTestService } from 'store-orders/testing';
import { withoutHosts } from '../../support/installed.js';

const msw = fileURLToPath(new URL('../../runner-tools/node_modules/msw/lib/', import.meta.url));
const skip = withoutHosts || (!existsSync(msw) && 'MSW is not installed: npm ci --prefix test/runner-tools');

const CLIENTS = skip ? {} : (await import('./support/single-requests.js')).CLIENTS;

suite('behind MSW', { skip }, () => {
  const ids = Object.keys(CLIENTS).map((_, index) => 2n ** 53n + BigInt(index));
  // The clients accept compression, and a service compresses a list of this length.
  const listedIds = [...ids, ...Array.from({ length: 200 }, (_, index) => 2n ** 54n + BigInt(index))];
  const listed = `[${listedIds.map((id) => `{"id":${id}}`).join(',')}]`;
  const service = createTestService({ orders: listedIds.map((id) => ({ id })) });
  const url = `${service.url}/store/orders`;
  let close = () => {};

  before(async () => {
    const { http, HttpResponse } = await import(`${msw}core/index.mjs`);
    const { setupServer } = await import(`${msw}node/index.mjs`);
    const server = setupServer(
      http.all(`${service.url}/*`, ({ request }: { request: Request }) =>
        service.fetch(request).catch(() => HttpResponse.error()),
      ),
    );
    server.listen({ onUnhandledRequest: 'error' });
    close = () => server.close();
  });
  after(() => close());

  for (const [index, [name, send]] of Object.entries(CLIENTS).entries()) {
    test(`through MSW, ${name} lists and cancels orders, and receives 429 responses and failures`, async () => {
      const id = ids[index] ?? 0n;
      const apiKey = service.issueKey();
      const headers = { Authorization: `Bearer ${apiKey}` };
      assert.deepEqual(await send('GET', url, headers), [200, listed]);
      assert.deepEqual(await send('DELETE', `${url}/${id}`, headers), [204, '']);
      assert.equal(service.store.get(id)?.status, 'cancelled');
      service.failNext(503, 'request_lost', 'response_torn');
      assert.equal((await send('GET', url, headers))[0], 503);
      await assert.rejects(send('GET', url, headers));
      await assert.rejects(send('GET', url, headers));
      service.exhaust(apiKey);
      assert.equal((await send('GET', url, headers))[0], 429);
      service.clock.advance(60_000);
      assert.equal((await send('GET', url, headers))[0], 200);
    });
  }

  test('undici, which MSW does not intercept, reaches the service through the port that listen() opens', async (t) => {
    const { request, fetch: undiciFetch } = await import('undici');
    const listening = await service.listen();
    t.after(() => listening.close());
    const headers = { Authorization: `Bearer ${service.issueKey()}` };
    const asked = await request(`${listening.url}/store/orders`, { headers });
    assert.deepEqual([asked.statusCode, await asked.body.text()], [200, listed]);
    service.failNext('response_lost');
    await assert.rejects(undiciFetch(`${listening.url}/store/orders`, { headers }), { message: 'fetch failed' });
  });
});
