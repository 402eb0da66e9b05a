import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorObject } from 'store-orders';
import { headers, serveExample } from './support/start.js';

test('examples/two-versions.ts serves v1 and pages of a v2 behind the same keys and quotas, and documents both', async (t) => {
  const origin = await serveExample(t, 'two-versions.ts');
  const ask = async (path: string, init: RequestInit = { headers }) => {
    const response = await fetch(origin + path, init);
    return { response, text: await response.text() };
  };
  const remainingOf = ({ response }: { readonly response: Response }) => response.headers.get('X-RateLimit-Remaining');

  const whole = await ask('/v1/store/orders');
  const pages: string[] = [];
  let cursor = '';
  do {
    const { text } = await ask(`/v2/store/orders?limit=1${cursor}`);
    const [, orders = '', next] = /^\{"orders":\[(.*)\](?:,"next":"(\d+)")?\}$/.exec(text) ?? [];
    pages.push(orders);
    cursor = next === undefined ? '' : `&cursor=${next}`;
  } while (cursor !== '');
  assert.equal(`[${pages.join(',')}]`, whole.text);
  const complete = await ask('/v2/store/orders?complete=true');
  assert.match(complete.text, /^\{"orders":\[\{"id":1,[^{]*\}\]\}$/);
  assert.deepEqual([remainingOf(whole), remainingOf(complete)], ['59', `${58 - pages.length}`]);

  const wrong = await ask('/v2/store/orders?limit=0');
  const expected = { code: 'bad_request', message: 'limit: expected a whole number from 1 to 1000', status: 400 };
  assert.deepEqual([wrong.response.status, JSON.parse(wrong.text)], [400, expected]);
  for (const version of ['v1', 'v2']) {
    const { response, text } = await ask(`/${version}/store/orders`, {});
    assert.deepEqual([response.status, JSON.parse(text)], [401, errorObject('missing_api_key')], version);
  }

  const document = (await ask('/openapi.json', {})).text;
  const { paths, components, servers } = JSON.parse(document);
  assert.deepEqual(Object.keys(paths), ['/v1/store/orders', '/v1/store/orders/{orderId}', '/v2/store/orders']);
  assert.equal(servers[0].url, '/');
  for (const [, kind = '', name = ''] of document.matchAll(/"#\/components\/(\w+)\/(\w+)"/g)) {
    assert.ok(components[kind][name], `${kind}/${name}`);
  }
  assert.ok(components.schemas.OrderPage);
  const { parameters, responses } = paths['/v2/store/orders'].get;
  assert.equal(parameters[0].in, 'query');
  assert.deepEqual(Object.keys(responses), ['200', '400', '401', '429', '500', '503']);
  for (const { response } of [complete, wrong]) {
    const [, name = ''] = /(\w+)$/.exec(responses[response.status].$ref) ?? [];
    const { description, headers: fields } = components.responses[name];
    assert.doesNotMatch(description, /HTTP|connection/);
    assert.deepEqual(
      Object.keys(fields).filter((field) => !response.headers.has(field)),
      [],
    );
  }
});
