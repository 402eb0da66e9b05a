import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, suite, test } from 'node:test';
import Koa from 'koa';
import type { OrderServiceOptions } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { createOrderServer } from 'store-orders/server';
import { assertError, trioOf } from '../support/answer.js';
import { exchange } from '../support/raw-socket.js';
import { authenticate, createShop, KEY, ORDERS } from '../support/shop.js';
import { listening, type Mounted } from './support/mount.js';

const AUTHORIZATION = KEY.join(': ');
const request = (line: string, ...fields: readonly string[]) =>
  [`${line} HTTP/1.1`, 'Host: a', AUTHORIZATION, ...fields, '', ''].join('\r\n');
const cancel = (...fields: readonly string[]) => request(`DELETE ${ORDERS}/1`, ...fields);
const CHUNKED = 'Transfer-Encoding: chunked';
const GARBAGE = 'NONSENSE\r\n\r\n';

const SERVERS: Readonly<Record<string, (options: OrderServiceOptions) => Server>> = {
  nodeHandler: (options) => {
    const handle = nodeHandler(createShop(options).service);
    return handle.attach(createServer(handle));
  },
  'koaMiddleware on an attached server': (options) => {
    const { service } = createShop(options);
    return nodeHandler(service).attach(createServer(new Koa().use(koaMiddleware(service)).callback()));
  },
  createOrderServer: createOrderServer,
};

const later = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

for (const [name, create] of Object.entries(SERVERS)) {
  for (const kind of ['synchronous', 'asynchronous'] as const) {
    suite(`${name} over a store that is ${kind}`, () => {
      const shop = createShop();
      const cancelled: bigint[] = [];
      const store = {
        list: () => [],
        cancel: (id: bigint) => {
          cancelled.push(id);
          return kind === 'synchronous' ? ('cancelled' as const) : later().then(() => 'cancelled' as const);
        },
      };
      let server: Mounted;
      before(async () => {
        server = await listening(create({ store, limiter: shop.limiter, authenticate }));
      });
      after(() => server.close());

      /** Returns the responses, after the server has closed the connection. */
      async function answersTo(...pieces: readonly string[]) {
        cancelled.length = 0;
        const { port } = new URL(server.origin);
        return (await exchange(Number(port), ...pieces)).answers;
      }

      for (const coding of [
        'xchunked',
        'identity',
        'gzip',
        'chunked, identity',
        'chunked\r\nTransfer-Encoding: gzip',
      ]) {
        test(`a request whose last transfer coding is not chunked gets 400 and cancels nothing: ${JSON.stringify(coding)}`, async () => {
          const before = trioOf((await answersTo(request(`GET ${ORDERS}`, 'Connection: close')))[0] ?? assert.fail());
          const answers = await answersTo(`${cancel(`Transfer-Encoding: ${coding}`)}0\r\n\r\n`);
          assert.equal(answers.length, 1);
          assertError(answers[0] ?? assert.fail(), 'bad_request');
          assert.deepEqual(cancelled, []);
          const after = trioOf((await answersTo(request(`GET ${ORDERS}`, 'Connection: close')))[0] ?? assert.fail());
          assert.equal(before.remaining - after.remaining, 1, 'the key is not charged');
        });
      }

      for (const [mistake, content] of [
        ['a chunk size that is no number', `${cancel(CHUNKED)}zz\r\nhello\r\n0\r\n\r\n`],
        ['a chunk that is longer than its size', `${cancel(CHUNKED)}1\r\nhello\r\n0\r\n\r\n`],
        ['a request hidden in a malformed chunk', `${cancel(CHUNKED)}\r\n${request(`DELETE ${ORDERS}/2`)}`],
      ] as const) {
        test(`content with a mistake does not change the response: ${mistake}`, async () => {
          for (const pieces of [[content], [content.slice(0, -20), content.slice(-20)]]) {
            const answers = await answersTo(...pieces);
            assert.deepEqual(
              answers.map(({ status, fields }) => [status, fields.get('connection')]),
              [[204, 'close']],
            );
            assert.deepEqual(cancelled, [1n]);
          }
        });
      }

      test('all complete requests before malformed bytes get their responses, then the connection closes', async () => {
        const answers = await answersTo(
          cancel() + request(`DELETE ${ORDERS}/2`) + request(`DELETE ${ORDERS}/3`) + GARBAGE,
        );
        assert.deepEqual(
          answers.map(({ status }) => status),
          [204, 204, 204],
        );
        assert.deepEqual(cancelled, [1n, 2n, 3n]);
      });

      test('a cancel before a CONNECT gets its response', async () => {
        const answers = await answersTo(cancel() + request('CONNECT a:443'));
        assert.deepEqual([answers.map(({ status }) => status), cancelled], [[204], [1n]]);
      });
    });
  }
}
