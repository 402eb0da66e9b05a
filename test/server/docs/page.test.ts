import assert from 'node:assert/strict';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { type TestContext, test } from 'node:test';
import zlib from 'node:zlib';
import { ERROR_CODES, errorObject } from 'store-orders';
import { createOpenApiDocument } from 'store-orders/openapi';
import { pre } from '../../../dist/server/docs/markup.js';
import { programIn } from '../../program/support/program.js';
import { checkSnapshot } from '../../support/snapshot.js';
import { listen } from '../support/order-server.js';

function textOf(html: string): string {
  const text = html.replace(/<[^>]+>/g, '');
  return text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&');
}

async function pageText(t: TestContext): Promise<string> {
  const { origin } = await listen(t);
  return (await fetch(`${origin}/docs`)).text();
}

const POLICY = `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'`;
const SECURITY = [
  ['content-security-policy', POLICY],
  ['x-content-type-options', 'nosniff'],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-opener-policy', 'same-origin'],
] as const;

test('the server and the command "openapi" return the same OpenAPI document for the same base path and public URL', async (t) => {
  const basePath = '/orders/v1';
  const publicUrl = 'https://shop.example/shop';
  const expected = JSON.stringify(createOpenApiDocument({ basePath, publicUrl }), null, 2);
  const { origin } = await listen(t, { basePath, publicUrl });
  const response = await fetch(`${origin}/openapi.json`);
  assert.equal(response.headers.get('content-type'), 'application/json');
  assert.equal(await response.text(), expected);
  assert.equal(JSON.parse(expected).servers[0].url, `${publicUrl}${basePath}`);
  const page = await (await fetch(`${origin}/docs`)).text();
  assert.match(page, /data-base-path="\/orders\/v1"/);
  const samples = expected.match(/"lang":/g)?.length;
  const filled = page.match(/<span data-fill="base">https:\/\/shop\.example\/shop\/orders\/v1<\/span>/g);
  assert.equal(filled?.length, samples);
  assert.doesNotMatch(page, /127\.0\.0\.1/);

  const { output, misuse } = programIn();
  assert.equal(await output(`openapi --base-path ${basePath} --public-url ${publicUrl}`), `${expected}\n`);
  assert.equal(await output('openapi --json'), `${JSON.stringify(createOpenApiDocument(), null, 2)}\n`);
  assert.match(await misuse('openapi --base-path v1'), /--base-path/);
});

test('the OpenAPI document is openapi.json', async (t) => {
  const { origin } = await listen(t);
  checkSnapshot('openapi.json', await (await fetch(`${origin}/openapi.json`)).text());
});

test('the documentation page has each text of the OpenAPI document: its description, operations, parameters, responses, fields, header fields, errors and samples', async (t) => {
  const shown = wordsOf(textOf(await pageText(t)));
  const { info, paths, components } = createOpenApiDocument();
  const { Order, Error: error } = components.schemas;
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const texts = [
    info.summary,
    ...info.description
      .split('\n\n')
      .slice(1)
      .map((block) => block.replace(/^## |^```\w+ .*\n|\n```$|^\| ---.*\n/gm, '')),
    ...operations.flatMap(({ summary, description, parameters = [] }) => [
      summary,
      description,
      ...parameters.map((parameter) => parameter.description),
    ]),
    ...operations.flatMap((operation) => operation['x-codeSamples'].map(({ source }) => source)),
    ...Object.values(components.responses).map(({ description }) => description),
    ...[Order, error]
      .flatMap((schema) => [schema, ...Object.values(schema?.properties ?? {})])
      .map((schema) => schema?.description ?? ''),
    ...Object.values(components.headers).map(({ description }) => description),
    ...ERROR_CODES.flatMap((code) => [code, errorObject(code).message]),
  ];
  assert.deepEqual(
    texts.filter((text) => !shown.includes(wordsOf(text))),
    [],
  );
});

/** Returns only the letters and digits, because the page shows Markdown in another form. */
function wordsOf(text: string): string {
  return text.replace(/[^\p{L}\d]+/gu, '');
}

test('the documentation page and all its resources come from one origin, with a strict Content-Security-Policy', async (t) => {
  const { origin } = await listen(t);
  const seen = new Set<string>();
  const visit = async (url: URL) => {
    if (seen.has(url.pathname)) return;
    seen.add(url.pathname);
    const response = await fetch(url);
    assert.equal(response.status, 200, url.href);
    for (const [name, value] of SECURITY) assert.equal(response.headers.get(name), value, url.href);
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

test('the documentation page is HTML in which no value is missing', async (t) => {
  const page = await pageText(t);
  assert.ok(page.startsWith('<!doctype html>\n<html lang="en">\n'));
  assert.doesNotMatch(page, /undefined/);
});

test('the documentation page has each target of its own links', async (t) => {
  const page = await pageText(t);
  for (const [, target] of page.matchAll(/href="#([\w-]+)"/g)) assert.ok(page.includes(`id="${target}"`), target);
});

test('a code block of the documentation page is coloured, and its code is escaped', () => {
  assert.equal(
    pre('Sample', 'if (a < 1) b("&");'),
    '<pre tabindex="0" role="group" aria-label="Sample"><span class="keyword">if</span> (a &lt; <span class="number">1</span>) b(<span class="string">&quot;&amp;&quot;</span>);</pre>',
  );
});

test('before each retry, the retry sample waits for Retry-After or a doubling pause, whichever is longer; finally, it gives up', async (t) => {
  const page = await pageText(t);
  const [, sample = ''] = /aria-label="Wait and retry in JavaScript">([\s\S]*?)<\/pre>/.exec(page) ?? [];
  const waits: number[] = [];
  const send = async (replies: readonly Response[]): Promise<Response> => {
    const rest = [...replies];
    const pause = (go: () => void, ms: number) => {
      waits.push(ms);
      go();
    };
    return Function('fetch', 'setTimeout', `${textOf(sample)}\nreturn send`)(() => rest.shift(), pause)('/');
  };
  const refusal = (seconds: string, status = 429) => new Response('', { status, headers: { 'Retry-After': seconds } });
  assert.equal((await send([refusal('7'), refusal('1', 503), refusal('1'), new Response('ok')])).status, 200);
  assert.deepEqual(waits.splice(0), [7_000, 2_000, 4_000]);
  assert.equal((await send([refusal('86400')])).status, 429);
  assert.equal((await send(Array.from({ length: 5 }, () => refusal('1')))).status, 429);
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000]);
});

/** Calls `before` with the number of each file that the server reads, until the end of the test. */
function beforeReading(t: TestContext, before: (count: number) => Promise<void> | void) {
  const { readFile } = files;
  let count = 0;
  t.mock.method(files, 'readFile', async (path: URL) => {
    await before(++count);
    return readFile(path, 'utf8');
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

test('concurrent first requests for a file share one reading, and one compression for each coding', async (t) => {
  const requests = 60;
  const { server, origin } = await listen(t);
  const allArrived = new Promise<void>((resolve) => {
    let count = 0;
    server.on('request', () => ++count === requests && resolve());
  });
  const compressions = [t.mock.method(zlib, 'createBrotliCompress'), t.mock.method(zlib, 'createGzip')];
  let reads = 0;
  beforeReading(t, (count) => {
    reads = count;
    return allArrived;
  });
  const codings = Array.from({ length: requests }, (_, index) => (index % 2 === 0 ? 'br' : 'gzip'));
  const ask = (coding: string) => fetch(`${origin}/docs/base.css`, { headers: { 'Accept-Encoding': coding } });
  const responses = await Promise.all(codings.map(ask));
  assert.deepEqual(
    responses.map(({ headers }) => headers.get('content-encoding')),
    codings,
  );
  assert.equal(reads, 1);
  assert.deepEqual(
    compressions.map(({ mock }) => mock.callCount()),
    [1, 1],
  );
});

test('after a failure to read a file of the documentation, the next request reads it again, and keeps it', async (t) => {
  const { origin } = await listen(t);
  let reads = 0;
  beforeReading(t, (count) => {
    reads = count;
    if (count === 1) assert.fail('unreadable');
  });
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) statuses.push((await fetch(`${origin}/docs/base.css`)).status);
  assert.deepEqual(statuses, [503, 200, 200]);
  assert.equal(reads, 2);
});
