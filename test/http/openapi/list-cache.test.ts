import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryOrderStore } from 'store-orders';
import { type Answer, createAnswer } from '../support/answer.js';
import { bearer, createShop, ORDERS } from '../support/shop.js';
import { withAsking } from './support/provoke.js';
import { checkDocumented, documented, exampleOrders, headerExamples } from './support/validate.js';

const FREE = bearer('free-key');
const examples = headerExamples();

function checkAsDocumented(answer: Answer): void {
  const { response, pointer } = documented('listOrders', answer.status) ?? assert.fail();
  checkDocumented(answer, response, pointer);
}

test('the documented example of ETag is the tag of the documented orders, and leads to a 304 as documented', () =>
  withAsking('listOrders', createShop({ store: createMemoryOrderStore(exampleOrders()) }), async ({ ask }) => {
    const tag = examples.get('etag') ?? assert.fail();
    assert.equal((await ask([FREE])).fields.get('etag'), tag);
    const again = await ask([FREE, ['If-None-Match', tag]]);
    assert.equal(again.status, 304);
    checkAsDocumented(again);
  }));

test('a list that is long enough is compressed as documented', async () => {
  const store = createMemoryOrderStore(Array.from({ length: 1_000 }, (_, id) => ({ id: BigInt(id) })));
  const { service } = createShop({ store });
  for (const coding of ['gzip', 'br']) {
    const rawHeaders = [...FREE, 'Accept-Encoding', coding];
    const { status, headers } = await service.respond({ method: 'GET', url: ORDERS, rawHeaders });
    // The body is compressed, so the check uses a plain list instead.
    const answer = createAnswer(status, headers, '[]');
    assert.equal(answer.fields.get('content-encoding'), coding);
    assert.equal(answer.fields.get('vary'), examples.get('vary'));
    checkAsDocumented(answer);
  }
});
