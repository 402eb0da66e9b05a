import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { createGzip } from 'node:zlib';
import Koa from 'koa';
import { koaMiddleware } from 'store-orders/koa';
import { fakeStore } from '../../support/fake-store.js';
import { createDeferred } from '../../support/until.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { serve } from './support/servers.js';

/** Compresses a stream as `koa-compress` does. */
async function compress(ctx: Koa.Context, next: Koa.Next): Promise<void> {
  await next();
  if (ctx.body instanceof Readable) ctx.body = ctx.body.pipe(createGzip());
}

for (const [sent, bytes] of [
  ['nothing', 10],
  ['a part', 1_000_000],
] as const) {
  test(`the response of a list that fails ends when middleware compresses it, and ${sent} is sent`, async (t) => {
    const { promise: failed, resolve: fail } = createDeferred();
    async function* list() {
      yield `{"id":1,"shipDate":"${randomBytes(bytes).toString('hex')}"}`;
      await failed;
      throw new Error('the database is gone');
    }
    const app = new Koa().use(compress).use(koaMiddleware(createShop({ store: fakeStore({ list }) }).service));
    app.silent = true;
    const port = await serve(t, createServer(app.callback()));
    if (sent === 'nothing') fail();
    const response = await fetch(`http://127.0.0.1:${port}${ORDERS}`, { headers: [KEY] });
    fail();
    if (sent === 'nothing') assert.equal(response.status, 500);
    else await assert.rejects(response.text());
  });
}
