import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createMemoryLimiter, createMemoryOrderStore } from 'store-orders';
import { createOpenApiDocument, printOpenApiDocument } from 'store-orders/openapi';
import { createOrderServer } from 'store-orders/server';
import { issueKey, run, startServer, temporaryDirectory } from '../support/program.js';

async function listen(t: TestContext, basePath?: string): Promise<string> {
  const server = createOrderServer({
    store: createMemoryOrderStore(),
    limiter: createMemoryLimiter(),
    authenticate: () => undefined,
    basePath,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.drain(0));
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

test('the document is served with the base path of the server, and printed by the command', async (t) => {
  const expected = printOpenApiDocument(createOpenApiDocument({ basePath: '/shop/v1' }));
  const origin = await listen(t, '/shop/v1');
  const response = await fetch(`${origin}/openapi.json`);
  assert.equal(response.headers.get('content-type'), 'application/json');
  assert.equal(await response.text(), expected);

  const cwd = temporaryDirectory(t);
  assert.equal((await run(['openapi', '--base-path', '/shop/v1'], { cwd })).stdout, `${expected}\n`);
  assert.equal(
    (await run(['openapi', '--json'], { cwd })).stdout,
    `${printOpenApiDocument(createOpenApiDocument())}\n`,
  );
  const wrong = await run(['openapi', '--base-path', 'v1'], { cwd });
  assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
  assert.match(wrong.stderr, /--base-path/);
});

test('the page and all that it refers to are there, from the same origin, under a strict policy', async (t) => {
  const origin = await listen(t);
  const seen = new Set<string>();
  const visit = async (url: URL) => {
    if (seen.has(url.pathname)) return;
    seen.add(url.pathname);
    const response = await fetch(url);
    assert.equal(response.status, 200, url.href);
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.doesNotMatch(policy, /unsafe|\*|http/);
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    const text = await response.text();
    assert.doesNotMatch(text, /style="|onclick=|<script>|<style>/);
    const isPage = response.headers.get('content-type')?.startsWith('text/html');
    const references = text.matchAll(isPage ? /(?:src|href)="([^"#]+)"/g : /from '([^']+)'/g);
    for (const [, reference = ''] of references) {
      const target = new URL(reference, url);
      assert.equal(target.origin, origin);
      await visit(target);
    }
  };
  await visit(new URL('/docs', origin));
  assert.ok(seen.has('/openapi.json') && seen.has('/docs/orders/json.js') && seen.has('/docs/base.css'));
});

test('who has a file is told so with 304; HEAD has no body; another method is refused', async (t) => {
  const origin = await listen(t);
  for (const path of ['/docs', '/openapi.json', '/docs/base.css', '/docs?from=a-link']) {
    const plain = { 'Accept-Encoding': 'identity' };
    const first = await fetch(origin + path, { headers: plain });
    const etag = first.headers.get('etag') ?? '';
    assert.match(etag, /^"[\w-]{22}"$/);
    assert.equal(first.headers.get('cache-control'), 'no-cache');
    const length = `${(await first.arrayBuffer()).byteLength}`;
    assert.equal(first.headers.get('content-length'), length);
    for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await fetch(origin + path, { headers: { ...plain, 'If-None-Match': tags } });
      assert.deepEqual([again.status, again.headers.get('etag'), await again.text()], [304, etag, ''], tags);
    }
    assert.equal((await fetch(origin + path, { headers: { ...plain, 'If-None-Match': '"other"' } })).status, 200);
    const head = await fetch(origin + path, { method: 'HEAD', headers: plain });
    assert.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, length, '']);
    const post = await fetch(origin + path, { method: 'POST' });
    assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD']);
  }
});

test('what is not exactly one of them stays the matter of the service', async (t) => {
  const origin = await listen(t);
  for (const path of [
    '/docs//',
    '/docs/server/docs/html.js',
    '/docs/../package.json',
    '/docs/page.css',
    '/openapi',
    '/index.html',
  ]) {
    const response = await fetch(origin + path);
    assert.equal(response.status, 401, path);
    assert.ok(response.headers.has('x-ratelimit-limit'));
  }
});

test('the first run names the page, and it is there', async (t) => {
  const server = await startServer(t, { cwd: temporaryDirectory(t) }, '--base-path', '/shop/v1', '--db', ':memory:');
  const url = /^Documentation: (\S+)$/m.exec(server.stderr())?.[1] ?? '';
  assert.equal(url, `${new URL(server.url).origin}/docs`);
  const page = await (await fetch(url)).text();
  assert.match(page, /data-base-path="\/shop\/v1"/);
});

test('a later run says on a terminal where the page is, and how to get a key on the same storage', async (t) => {
  const cwd = temporaryDirectory(t);
  await issueKey(cwd, 'free', '--db', 'my shop.db');
  const env = {
    NODE_OPTIONS: '--import=data:text/javascript,process.stderr.isTTY=true',
    npm_lifecycle_event: 'start',
  };
  const server = await startServer(t, { cwd, env }, '--db', 'my shop.db');
  const docs = `${new URL(server.url).origin}/docs`;
  const advice = `Documentation: ${docs}\nAnother key: npx store-orders keys create --plan free --db 'my shop.db'\n\n`;
  assert.equal(server.stderr(), advice);
  for (const path of ['/', '/docs/']) assert.equal((await fetch(new URL(path, docs))).url, docs);
});
