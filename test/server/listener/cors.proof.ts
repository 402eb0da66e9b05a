import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, suite, type TestContext, test } from 'node:test';
import { listenOnFreePort } from '../../support/listen.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { type Browser, launch, withoutBrowser } from '../docs/support/browser.js';
import { DESKTOP } from '../docs/support/opened-page.js';
import { issueKey, startServer } from '../support/program.js';

/** Serves an empty page, and returns its origin. */
async function servePage(t: TestContext): Promise<string> {
  const server = createServer((_, response) =>
    response.setHeader('Content-Type', 'text/html').end('<title>shop</title>'),
  );
  t.after(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${await listenOnFreePort(server)}`;
}

/** The part of a response that the page can read, or the error with which `fetch` rejects. */
interface Seen {
  readonly status?: number;
  readonly text?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly error?: string;
}

suite('requests by a web page from another origin', { skip: withoutBrowser }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser?.close());

  async function openPage(t: TestContext, origin: string) {
    const context = await browser.newContext(DESKTOP);
    t.after(() => context.close());
    const page = await context.newPage();
    await page.goto(origin);
    return (url: string, init: RequestInit): Promise<Seen> =>
      page.evaluate(`fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(
        async (response) => ({
          status: response.status,
          text: await response.text(),
          fields: Object.fromEntries(response.headers),
        }),
        (error) => ({ error: error.name }),
      )`);
  }

  test('a page from the origin in --cors-origin can list and cancel orders, and read the limit fields, Retry-After and the request id', async (t) => {
    const origin = await servePage(t);
    const cwd = temporaryDirectory();
    const { url } = await startServer(t, { cwd }, '--cors-origin', origin);
    const { key } = await issueKey(cwd, 'enterprise', '--per-minute', '4');
    const ask = await openPage(t, origin);
    const headers = { Authorization: `Bearer ${key}`, 'X-Request-Id': 'from-the-page' };

    const list = await ask(`${url}/store/orders`, { headers });
    assert.equal(list.status, 200);
    const { id } = JSON.parse(list.text ?? '').find(({ complete }: { complete: boolean }) => !complete);
    const again = await ask(`${url}/store/orders`, {
      headers: { ...headers, 'If-None-Match': list.fields?.['etag'] ?? '' },
    });
    const cancel = await ask(`${url}/store/orders/${id}`, { method: 'DELETE', headers });
    const refused = await ask(`${url}/store/orders/0`, { method: 'DELETE', headers });
    const over = await ask(`${url}/store/orders`, { headers });
    const wrong = await ask(`${url}/store/orders`, { headers: { ...headers, Authorization: 'Bearer wrong' } });

    const replies = [list, again, cancel, refused, over, wrong];
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 304, 204, 404, 429, 401],
    );
    assert.deepEqual(
      replies.map(({ fields }) => fields?.['x-ratelimit-remaining']),
      ['3', '2', '1', '0', '0', wrong.fields?.['x-ratelimit-remaining']],
    );
    for (const { fields = {} } of replies) {
      assert.equal(fields['x-request-id'], 'from-the-page');
      for (const name of ['x-ratelimit-limit', 'x-ratelimit-reset', 'ratelimit', 'ratelimit-policy']) {
        assert.ok(name in fields, name);
      }
    }
    assert.equal(JSON.parse(refused.text ?? '').code, 'order_not_found');
    assert.match(over.fields?.['retry-after'] ?? '', /^[1-9][0-9]?$/);
  });

  test('a page can neither list nor cancel orders if --cors-origin names another origin', async (t) => {
    const cwd = temporaryDirectory();
    const { url, get } = await startServer(t, { cwd }, '--cors-origin', 'https://shop.example');
    const { key } = await issueKey(cwd, 'free');
    const ask = await openPage(t, await servePage(t));
    const headers = { Authorization: `Bearer ${key}` };
    assert.deepEqual(await ask(`${url}/store/orders`, { headers }), { error: 'TypeError' });
    assert.deepEqual(await ask(`${url}/store/orders/1`, { method: 'DELETE', headers }), { error: 'TypeError' });
    // The preflight requests were refused, so this request is the first that is charged to the key.
    assert.equal((await get(key)).headers.get('x-ratelimit-remaining'), '59');
  });
});
