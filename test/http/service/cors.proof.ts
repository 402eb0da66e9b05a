import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { issueKey, startServer } from '../../program/support/program.js';
import { launch, withoutBrowser } from '../../server/docs/support/browser.js';
import { DESKTOP } from '../../server/docs/support/opened-page.js';
import { listenOnFreePort } from '../../support/listen.js';
import { until } from '../../support/until.js';

/** What the page can read: the header fields, `:status` and `:text`, or the error of `fetch`. */
type Seen = Readonly<Record<string, string>>;

/** Opens an empty page in a browser. Returns its origin, and a function that sends a request from it. */
async function openPage(t: TestContext) {
  const server = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<p>shop'));
  t.after(() => server.close().closeAllConnections());
  const origin = `http://127.0.0.1:${await listenOnFreePort(server)}`;
  const browser = await launch();
  t.after(() => browser.close());
  const page = await (await browser.newContext(DESKTOP)).newPage();
  await page.goto(origin);
  const ask = (url: string, init: RequestInit): Promise<Seen> =>
    page.evaluate(`fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(
      async (response) => ({
        ...Object.fromEntries([...response.headers, [':status', String(response.status)]]),
        ':text': await response.text(),
      }),
      (error) => ({ error: error.name }),
    )`);
  return { origin, ask };
}

test('a page can list and cancel orders, and read the limit fields, Retry-After and the request id, only if --cors-origin names its origin', {
  skip: withoutBrowser,
}, async (t) => {
  const { origin, ask } = await openPage(t);
  const { url, cwd } = await startServer(t, {}, '--cors-origin', origin);
  const { key } = await issueKey(cwd, 'enterprise', '--per-minute', '3');
  const headers = { Authorization: `Bearer ${key}`, 'X-Request-Id': 'from-the-page' };
  const list = await ask(`${url}/store/orders`, { headers });
  const { id } = JSON.parse(list[':text'] ?? '').find(({ complete }: { complete: boolean }) => !complete);
  const known = { ...headers, 'If-None-Match': list['etag'] ?? '' };
  const unchanged = await ask(`${url}/store/orders`, { headers: known });
  const libraries = {
    'Content-Type': 'application/json',
    'X-Requested-With': 'XMLHttpRequest',
    'X-Datadog-Origin': 'rum',
  };
  const cancelled = await ask(`${url}/store/orders/${id}`, { method: 'DELETE', headers: { ...headers, ...libraries } });
  const refused = await ask(`${url}/store/orders`, { headers });
  assert.deepEqual(
    [list, unchanged, cancelled, refused].map((seen) => [seen[':status'], seen['x-ratelimit-remaining']]),
    [
      ['200', '2'],
      ['304', '1'],
      ['204', '0'],
      ['429', '0'],
    ],
  );
  assert.equal(cancelled['x-request-id'], 'from-the-page');
  assert.match(refused['retry-after'] ?? '', /^[1-9][0-9]?$/);

  const other = await startServer(t, {}, '--cors-origin', 'https://shop.example');
  for (const method of ['GET', 'DELETE']) {
    assert.deepEqual(await ask(`${other.url}/store/orders/1`, { method, headers }), { error: 'TypeError' });
  }
});

test('a browser keeps the list, asks the server before each use, and gives it to nobody without a valid key', {
  skip: withoutBrowser,
}, async (t) => {
  const { origin, ask } = await openPage(t);
  const { url, cwd, log } = await startServer(t, {}, '--cors-origin', origin);
  const { key } = await issueKey(cwd, 'business');
  const statuses: unknown[] = [];
  for (const used of [key, key, 'wrong', key]) {
    const seen = await ask(`${url}/store/orders`, { headers: { Authorization: `Bearer ${used}` } });
    statuses.push(seen[':status']);
  }
  assert.deepEqual(statuses, ['200', '200', '401', '200']);
  const sent = () => log().flatMap(({ method, status }) => (method === 'GET' ? [status] : []));
  await until(() => sent().length >= statuses.length);
  assert.deepEqual(sent(), [200, 304, 401, 304]);
});
