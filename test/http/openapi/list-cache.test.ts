import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryOrderStore } from 'store-orders';
import { type Answer, createAnswer } from '../support/answer.js';
import { bearer, createShop, ORDERS } from '../support/shop.js';
import { withAsking } from './support/provoke.js';
import { checkDocumented, documented, headerExamples } from './support/validate.js';

type Fields = readonly (readonly [string, string])[];

const examples = headerExamples();

function list(orders: readonly { readonly id: bigint }[], fields: Fields): Promise<Answer> {
  const shop = createShop({ store: createMemoryOrderStore(orders) });
  return withAsking('listOrders', shop, ({ ask }) => ask([bearer('free-key'), ...fields]));
}

function checkAsDocumented(answer: Answer): void {
  const { response, pointer } = documented('listOrders', answer.status) ?? assert.fail();
  checkDocumented(answer, response, pointer);
}

test('the documented example of ETag is the tag of the documented orders, and leads to a 304 as documented', async () => {
  const { response } = documented('listOrders', 200) ?? assert.fail();
  const value = response.content?.['application/json'].examples['orders']?.value;
  assert.ok(Array.isArray(value));
  const orders = value.map((order) => ({ ...order, id: BigInt(order.id) }));
  const listed = await list(orders, []);
  assert.equal(listed.fields.get('etag'), examples.get('etag'));
  const again = await list(orders, [['If-None-Match', examples.get('etag') ?? '']]);
  assert.equal(again.status, 304);
  checkAsDocumented(again);
});

test('a list that is long enough is compressed as documented', async () => {
  const orders = Array.from({ length: 1_000 }, (_, id) => ({ id: BigInt(id) }));
  const plain = await list(orders, []);
  checkAsDocumented(plain);
  const { service } = createShop({ store: createMemoryOrderStore(orders) });
  for (const coding of ['gzip', 'br']) {
    const rawHeaders = [...bearer('free-key'), 'Accept-Encoding', coding];
    const { status, headers } = await service.respond({ method: 'GET', url: ORDERS, rawHeaders });
    // The body is compressed, so the check uses the plain list instead.
    const answer = createAnswer(status, headers, plain.text);
    assert.equal(answer.fields.get('content-encoding'), coding);
    assert.equal(answer.fields.get('vary'), examples.get('vary'));
    checkAsDocumented(answer);
  }
});
