import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import express from 'express';
import { PLANS, type Principal } from 'store-orders';
import { createGuard, fetchGuard, type Guard, nodeGuard, principalOf } from 'store-orders/guard';
import { connectFrom } from '../../server/support/client.js';
import { createDeferred } from '../../support/until.js';
import { EMULATIONS } from '../mounts/support/emulations.js';
import { serve } from '../mounts/support/servers.js';
import { collectReplies } from '../support/replies.js';
import { authenticate, bearer, createShop, KEY, ORDERS } from '../support/shop.js';

const URL_PATH = '/v1/pets';

/**
 * Starts a server with a guarded route, which responds with 201 and the principal's id. Requests
 * without a valid key are charged to the peer's address.
 */
type Host = (t: TestContext, guard: Guard) => (request: Request) => Promise<Response>;

function served(t: TestContext, listener: RequestListener): ReturnType<Host> {
  const port = serve(t, createServer(listener));
  return async (request) => fetch(new Request(`http://127.0.0.1:${await port}${URL_PATH}`, request));
}

type Fields = readonly (readonly [string, string])[];

function asking(fetch: ReturnType<Host>) {
  return (method: string, fields: Fields = [], body?: string): Promise<Response> => {
    const init = { method, headers: Object.fromEntries(fields), ...(body && { body }) };
    return fetch(new Request(`http://pets.test${URL_PATH}`, init));
  };
}

function guarded(guard: Guard): RequestListener {
  const check = nodeGuard(guard);
  return (request, response) => {
    response.setHeader('X-Host', 'yes');
    const finished = once(response, 'finish');
    check(request, response, () => {
      response.statusCode = 201;
      response.end(principalOf(request)?.id);
    });
    return finished;
  };
}

const HOSTS: Readonly<Record<string, Host>> = {
  'node:http': (t, guard) => served(t, guarded(guard)),
  Express: (t, guard) => {
    const app = express();
    app.use((_request, response, next) => {
      response.set('X-Host', 'yes');
      next();
    });
    app.use(URL_PATH, nodeGuard(guard));
    app.use(express.json());
    app.all(URL_PATH, (request, response) => {
      response.status(201).send(principalOf(request)?.id);
    });
    return served(t, app);
  },
  ...Object.fromEntries(
    Object.entries(EMULATIONS).map(([name, call]): [string, Host] => [name, (_t, guard) => call(guarded(guard))]),
  ),
  fetch: (_t, guard) => {
    const headers = { 'X-Host': 'yes' };
    return fetchGuard(guard, (_request, { id }) => new Response(id, { status: 201, headers }), {
      clientAddress: () => '192.0.2.1',
    });
  },
};

const remaining = (response: Response) => response.headers.get('X-RateLimit-Remaining');

for (const [name, open] of Object.entries(HOSTS)) {
  suite(`a guarded route of ${name}`, () => {
    test('serves a request with a valid key, and adds the limit fields to the headers of the host', async (t) => {
      const ask = asking(open(t, createGuard({ limiter: createShop().limiter, authenticate })));
      const response = await ask('POST', [KEY, ['Content-Type', 'application/json']], '{"name":"Rex"}');
      assert.deepEqual([response.status, await response.text()], [201, 'owner']);
      assert.equal(response.headers.get('X-Host'), 'yes');
      assert.equal(response.headers.get('X-RateLimit-Limit'), '1000');
      assert.match(response.headers.get('RateLimit') ?? '', /"minute";r=999/);
    });

    test('shares the quota of each key with the order service, even if its parts are asynchronous', async (t) => {
      const { service, limiter } = createShop();
      const guard = createGuard({
        limiter: { take: async (key, plan) => limiter.take(key, plan) },
        authenticate: async (apiKey) => authenticate(apiKey),
      });
      const ask = asking(open(t, guard));
      assert.equal(remaining(await ask('GET', [bearer('tiny-key')])), '1');
      await service.respond({ method: 'GET', url: ORDERS, rawHeaders: bearer('tiny-key') });
      const refused = await ask('GET', [bearer('tiny-key')]);
      assert.equal(refused.status, 429);
      assert.match(await refused.text(), /"code":"rate_limit_exceeded"/);
      assert.equal(refused.headers.get('Retry-After'), '60');
    });

    test('refuses requests without a valid key and charges them to the address, as the service does', async (t) => {
      const messages = collectReplies(t);
      const ask = asking(open(t, createGuard({ limiter: createShop().limiter, authenticate })));
      const missing = await ask('GET');
      assert.equal(missing.status, 401);
      assert.match(await missing.text(), /"code":"missing_api_key"/);
      assert.equal(remaining(missing), '599');
      if (!(name in EMULATIONS)) assert.match(`${messages[0]?.clientAddress}`, /^(?:127\.0\.0\.1|192\.0\.2\.1)$/);
      const invalid = await ask('GET', [bearer('nobody')]);
      assert.match(invalid.headers.get('WWW-Authenticate') ?? '', /error="invalid_token"/);
      assert.equal(remaining(invalid), '598');
      const head = await ask('HEAD');
      assert.deepEqual([head.status, await head.text()], [401, '']);
    });
  });
}

test('if the host has responded before the guard admits the request, the guard does not call the handler', async (t) => {
  const { promise: decided, resolve: decide } = createDeferred<Principal>();
  const check = nodeGuard(createGuard({ limiter: createShop().limiter, authenticate: () => decided }));
  const next = t.mock.fn();
  const ask = asking(
    served(t, (request, response) => {
      check(request, response, next);
      response.writeHead(503).end();
    }),
  );
  assert.equal((await ask('GET', [KEY])).status, 503);
  decide({ id: 'owner', plan: PLANS.free });
  await new Promise(setImmediate);
  assert.equal(next.mock.callCount(), 0);
});

test('fetchGuard charges request.ip, unless clientAddress is set, and passes on what the runtime passes to it', async (t) => {
  const messages = collectReplies(t);
  const guard = createGuard({ limiter: createShop().limiter, authenticate });
  const request = Object.assign(new Request('http://pets.test/'), { ip: '198.51.100.7' });
  const withKey = new Request(request, { headers: [KEY] });
  // Node.js creates no response with the status of a protocol switch.
  const upgrade = Object.defineProperty(new Response(), 'status', { value: 101 });
  const upgrading = fetchGuard(guard, () => upgrade);
  await upgrading(request);
  assert.equal(await upgrading(withKey), upgrade, 'a response that cannot be copied stays as it is');
  const clientAddress = (_request: Request, peer: string) => peer;
  const handle = fetchGuard(guard, (_request, _principal, peer: string) => new Response(peer), { clientAddress });
  await handle(request, '203.0.113.9');
  assert.equal(await (await handle(withKey, '203.0.113.9')).text(), '203.0.113.9');
  assert.deepEqual([messages[0]?.clientAddress, messages[1]?.clientAddress], ['198.51.100.7', '203.0.113.9']);
});

test('admit() is synchronous if authenticate and the limiter are, and closes the connection if it refuses an upload without a valid key', () => {
  const guard = createGuard({ limiter: createShop().limiter, authenticate });
  const admitted = guard.admit({ rawHeaders: KEY });
  const refused = guard.admit({ method: 'POST', rawHeaders: ['Host', 'pets.test', 'Content-Length', '5'] });
  assert.ok('admitted' in admitted && admitted.admitted);
  assert.ok('admitted' in refused && !refused.admitted);
  assert.deepEqual(refused.reply.headers.slice(-2), ['Connection', 'close']);
});

test('after the refusal of an upload of a valid key, the rest of the upload is read', async (t) => {
  const guard = createGuard({ limiter: createShop().limiter, authenticate });
  const port = await serve(t, createServer(guarded(guard)));
  const client = await connectFrom(port);
  const head = (apiKey: string, length: number) =>
    `POST ${URL_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: ${length}\r\n\r\n`;
  for (const status of ['201', '201', '429']) {
    assert.equal(await client.ask(head('tiny-key', status === '429' ? 1_000_000 : 0)), status);
  }
  client.socket.write(Buffer.alloc(1_000_000));
  assert.equal(await client.ask(head('business-key', 0)), '201');
});
