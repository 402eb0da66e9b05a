import assert from 'node:assert/strict';
import { after, suite, type TestContext } from 'node:test';
import { createMemoryOrderStore, createPlan, type OrderStore, perDay, perMinute } from 'store-orders';
import { listen } from '../../support/order-server.js';
import { type Browser, type ContextOptions, launch, type Page, withoutBrowser } from './browser.js';

export const DESKTOP: ContextOptions = {
  viewport: { width: 1_280, height: 900 },
  colorScheme: 'light',
  reducedMotion: 'reduce',
};

const PLAN = createPlan({ name: 'small', policies: [perMinute(5), perDay(1_000)] });

/** The ids include 2^53 and 2^53 + 1, so that a rounded id would name another order that exists. */
const ORDERS = [
  { id: 1, petId: 7, quantity: 2, shipDate: '2026-02-03T04:05:06Z', complete: true, status: 'shipped' },
  { id: 9007199254740992n },
  { id: 9007199254740993n, petId: 8, shipDate: '2030-04-01T07:00:00.500-05:00', complete: false },
  { id: 2n ** 63n - 1n },
];

interface OpenedPage {
  readonly page: Page;
  readonly store: ReturnType<typeof createMemoryOrderStore>;
  /** Enters a key, requests the list and waits for its response. */
  list(apiKey: string): Promise<void>;
  /** Cancels the order with this id by the button of its row. */
  cancel(id: string): Promise<void>;
  /** Returns the text that the page shows for the latest response. */
  text(): Promise<string>;
  goOffline(): Promise<void>;
}

type OpenPage = (t: TestContext, options?: ContextOptions, list?: OrderStore['list']) => Promise<OpenedPage>;

/** Defines tests that open the documentation page. All of them use one browser. */
export function suiteInBrowser(name: string, define: (openPage: OpenPage) => void): void {
  suite(name, { skip: withoutBrowser }, async () => {
    const browser = await launch();
    after(() => browser.close());
    define((t, options = DESKTOP, list) => openPage(t, browser, options, list));
  });
}

/**
 * Opens the page of a new server. The test fails if the page requests another origin, or writes to
 * the console.
 */
async function openPage(
  t: TestContext,
  browser: Browser,
  options: ContextOptions,
  list?: OrderStore['list'],
): Promise<OpenedPage> {
  const store = createMemoryOrderStore(ORDERS);
  const { origin } = await listen(t, {
    store: { ...store, list: list ?? store.list },
    authenticate: (apiKey) => (apiKey.startsWith('key-') ? { id: apiKey, plan: PLAN } : undefined),
  });
  const context = await browser.newContext(options);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // Chromium logs this line for each failed request and for each response with a status of 400 or
    // more.
    if (!/^Failed to load resource/.test(message.text())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) complaints.push(`requested ${request.url()}`);
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(complaints, []);
  });
  await page.clock.install();
  await page.goto(`${origin}/docs`);
  return {
    page,
    store,
    async list(apiKey) {
      await page.locator('#key').fill(apiKey);
      await page.locator('#list').click();
      await page.locator('#response details').first().waitFor();
    },
    async cancel(id) {
      await page.locator(`[aria-label="Cancel order ${id}"]`).click();
      await page.locator('#confirm button[value=cancel]').click();
    },
    text: () => page.locator('#response').innerText(),
    goOffline: () => context.setOffline(true),
  };
}
