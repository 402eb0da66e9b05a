import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, suite, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import {
  createMemoryLimiter,
  createMemoryOrderStore,
  createPlan,
  type OrderStore,
  perDay,
  perMinute,
} from 'store-orders';
import { createOrderServer } from 'store-orders/server';
import {
  type Browser,
  type ContextOptions,
  findViolations,
  launch,
  type Page,
  withoutBrowser,
} from './support/browser.js';

const DESKTOP: ContextOptions = {
  viewport: { width: 1_280, height: 900 },
  colorScheme: 'light',
  reducedMotion: 'reduce',
};
const DARK: ContextOptions = { ...DESKTOP, colorScheme: 'dark' };
const PHONE: ContextOptions = { ...DESKTOP, viewport: { width: 360, height: 740 } };

const PLAN = createPlan({ name: 'small', policies: [perMinute(5), perDay(1_000)] });
const ORDERS = [
  { id: 1, petId: 7, quantity: 2, shipDate: '2026-02-03T04:05:06Z', complete: true, status: 'shipped' },
  { id: 9007199254740993n, petId: 8, complete: false },
  { id: 2n ** 63n - 1n },
];

let browser: Browser;

interface Opened {
  readonly page: Page;
  readonly store: ReturnType<typeof createMemoryOrderStore>;
  /** Of the operation's answer. */
  text(operation: 'listOrders' | 'cancelOrder'): Promise<string>;
  goOffline(): Promise<void>;
}

/** The page of a new server. The test fails if the page asks another origin, or says anything on the console. */
async function open(t: TestContext, options: ContextOptions = DESKTOP, list?: OrderStore['list']): Promise<Opened> {
  const store = createMemoryOrderStore(ORDERS);
  const server = createOrderServer({
    store: { list: list ?? store.list, cancel: store.cancel },
    limiter: createMemoryLimiter(),
    authenticate: (apiKey) => (apiKey.startsWith('key-') ? { id: apiKey, plan: PLAN } : undefined),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const context = await browser.newContext(options);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // Chromium itself notes each answer from 400 up, whatever the page makes of it.
    if (!message.location().url.startsWith(`${origin}/v1/`)) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) complaints.push(`asked ${request.url()}`);
  });
  t.after(async () => {
    await context.close();
    await server.drain(0);
    assert.deepEqual(complaints, []);
  });
  await page.clock.install();
  await page.goto(`${origin}/docs`);
  return {
    page,
    store,
    text: (operation) => page.locator(`#${operation}-answer`).innerText(),
    goOffline: () => context.setOffline(true),
  };
}

async function list(page: Page, apiKey: string): Promise<void> {
  await page.locator('#key').fill(apiKey);
  await page.locator('#listOrders-form button').click();
  await page.locator('#listOrders-answer .status').waitFor();
}

suite('the documentation page', { skip: withoutBrowser }, () => {
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  test('lists the orders with their exact ids, as raw text and one by one, and cancels one of them', async (t) => {
    const { page, store, text } = await open(t);
    await list(page, 'key-1');
    const listed = await text('listOrders');
    assert.match(listed, /200 OK/);
    assert.ok(listed.includes('{"id":9007199254740993,"petId":8,"complete":false},{"id":9223372036854775807}]'));
    assert.match(listed, /3 orders[\s\S]*\n9007199254740993\n[\s\S]*\n9223372036854775807\n/);

    await page.locator('[aria-label="Cancel order 9007199254740993"]').click();
    assert.match(await page.locator('#confirm').innerText(), /Cancel order 9007199254740993\?/);
    await page.locator('#confirm button[value=keep]').click();
    assert.equal(store.get(9007199254740993n)?.status, 'pending');

    await page.locator('[aria-label="Cancel order 9007199254740993"]').click();
    await page.locator('#confirm button[value=cancel]').click();
    await page.locator('#cancelOrder-answer .status').waitFor();
    assert.match(await text('cancelOrder'), /204 No Content/);
    assert.equal(store.get(9007199254740993n)?.status, 'cancelled');
    const done = page.locator('[aria-label="Cancel order 9007199254740993: 204 No Content"]');
    assert.deepEqual([await done.innerText(), await done.getAttribute('aria-disabled')], ['Cancelled', 'true']);
  });

  test('shows the quota of both windows as it shrinks and as time passes', async (t) => {
    const { page } = await open(t);
    await list(page, 'key-1');
    const quota = () => page.locator('#quota').innerText();
    assert.match(
      await quota(),
      /minute\s+4 of 5 left\s+full again in (?:60|5\d) s\s+day\s+999 of 1,000 left\s+full again in 2[43] h \d+ min/i,
    );
    await page.clock.runFor(15_000);
    assert.match(await quota(), /full again in (?:4[0-6]|3\d) s[\s\S]*23 h 59 min/);
    await page.clock.runFor(47_000);
    assert.match(await quota(), /minute\s+5 of 5 left\s+full\s/i);
    await page.locator('#key').fill('key-2');
    assert.equal(await quota(), '', 'that of another key is not known');
  });

  test('explains a 429, counts its wait down, and sends nothing before it is over', async (t) => {
    const { page, text } = await open(t);
    for (let i = 0; i < 6; i++) {
      await list(page, 'key-1');
      await page.locator(`#listOrders-answer .status.${i < 5 ? 'good' : 'bad'}`).waitFor();
    }
    assert.match(await text('listOrders'), /429 Too Many Requests[\s\S]*Wait (?:60|5\d) s\.\s+rate_limit_exceeded/);
    assert.match(await page.locator('#listOrders-send').innerText(), /^Wait (?:60|5\d) s$/);
    assert.match(await page.locator('#cancelOrder-send').innerText(), /^Wait (?:60|5\d) s$/);
    assert.equal(await page.locator('#listOrders-form button').getAttribute('aria-disabled'), 'true');
    await page.locator('#key').focus();
    await page.keyboard.press('Enter');
    assert.match(await page.locator('#announcement').innerText(), /^Wait (?:60|5\d) s before/);

    await page.clock.runFor(20_000);
    assert.match(await text('listOrders'), /Wait (?:4[01]|3\d) s\./);
    await page.clock.runFor(42_000);
    assert.match(await text('listOrders'), /You can send again\./);
    assert.equal(await page.locator('#listOrders-send').innerText(), 'Send');
    assert.equal(await page.locator('#listOrders-form button').getAttribute('aria-disabled'), 'false');
  });

  test('is usable by keyboard alone, and shows where the focus is', async (t) => {
    const { page, store, text } = await open(t);
    const focused = () => page.evaluate<string>('document.activeElement.id || document.activeElement.ariaLabel');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'key');
    assert.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid');
    await page.keyboard.type('key-1');
    await page.keyboard.press('Enter');
    await page.locator('#listOrders-answer .status').waitFor();
    for (let i = 0; (await focused()) !== 'Cancel order 9223372036854775807'; i++) {
      assert.ok(i < 30, 'every button can be reached');
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    assert.equal(await focused(), 'Cancel order 9223372036854775807');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('#cancelOrder-answer .status').waitFor();
    assert.match(await text('cancelOrder'), /204/);
    assert.equal(store.get(2n ** 63n - 1n)?.status, 'cancelled');
  });

  test('explains each error in its own words: no key, no such order, shipped already', async (t) => {
    const { page, text } = await open(t);
    await page.locator('#listOrders-form button').click();
    await page.locator('#listOrders-answer .bad').waitFor();
    assert.match(await text('listOrders'), /401 Unauthorized[\s\S]*missing_api_key The API key is missing\./);
    assert.match(await page.locator('#quota-of').innerText(), /your address/);
    await page.locator('#key').fill('key-1');
    for (const [id, code, expected] of [
      ['01', 'invalid_order_id', /404[\s\S]*The order id is not a valid decimal int64/],
      ['12', 'order_not_found', /404[\s\S]*The order does not exist/],
      ['1', 'order_already_shipped', /409[\s\S]*cannot be cancelled/],
    ] as const) {
      await page.locator('#order-id').fill(id);
      await page.locator('#cancelOrder-form button').click();
      await page.locator(`#cancelOrder-answer .note b:text("${code}")`).waitFor();
      assert.match(await text('cancelOrder'), expected);
    }
    assert.match((await page.locator('#error-order_already_shipped').getAttribute('class')) ?? '', /current/);
    assert.match(await page.locator('#quota-of').innerText(), /this key/);
  });

  test('copies a curl line that works, with the key in it only while that is shown', async (t) => {
    const { page } = await open(t);
    await page.locator('#key').fill("key-it's");
    const copy = async () => {
      await page.locator('#listOrders-copy').click();
      await page.locator('#announcement').waitFor();
      return page.evaluate<string>('navigator.clipboard.readText()');
    };
    const hidden = await copy();
    assert.doesNotMatch(hidden, /key-it/);
    await page.locator('#key-show').click();
    const shown = await copy();
    assert.match(shown, /key-it/);
    await page.locator('#key').fill('key-plain');
    for (const line of [hidden, await copy()]) {
      const command = line.replace('curl ', 'curl --silent ');
      const { stdout } = await promisify(execFile)('sh', ['-c', command], {
        env: { ...process.env, API_KEY: 'key-2' },
      });
      assert.match(stdout, /^HTTP\/1\.1 200 OK[\s\S]*"id":9007199254740993,/);
    }
  });

  test('says so when no answer comes, and when a key cannot be sent', async (t) => {
    const { page, text, goOffline } = await open(t);
    await page.locator('#key').fill('ключ');
    await page.locator('#listOrders-form button').click();
    await page.locator('#listOrders-answer .note').waitFor();
    assert.match(await text('listOrders'), /characters that no header field can have/);
    await page.locator('#key').fill('key-1');
    await goOffline();
    await page.locator('#listOrders-form button').click();
    await page.locator('#listOrders-answer .note:text("No answer")').waitFor();
  });

  test('shows the beginning of a very long list, and stays quick', async (t) => {
    const long = Object.freeze(Array.from({ length: 200_000 }, (_, id) => ({ id: BigInt(id), petId: 1n })));
    const { page, text } = await open(t, DESKTOP, () => long);
    await list(page, 'key-1');
    const listed = await text('listOrders');
    assert.match(listed, /The first 100 orders/);
    assert.match(listed, /… and [\d,]+ characters more/);
    assert.ok(listed.length < 70_000);
  });

  for (const [name, options] of Object.entries({ light: DESKTOP, dark: DARK, phone: PHONE })) {
    test(`axe finds nothing to say, and nothing is cut off at the side: ${name}`, async (t) => {
      const { page } = await open(t, options);
      await list(page, 'key-1');
      await page.locator('[aria-label="Cancel order 1"]').click();
      if (name === 'light') assert.deepEqual(await findViolations(page), [], 'with the question');
      await page.locator('#confirm button[value=cancel]').click();
      await page.locator('#cancelOrder-answer .bad').waitFor();
      await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
      assert.deepEqual(await findViolations(page), []);
      const [width = 0, inner = 0] = await page.evaluate<number[]>('[document.body.scrollWidth, innerWidth]');
      assert.ok(width <= inner, `${width} > ${inner}`);
    });
  }
});
