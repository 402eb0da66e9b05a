import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DESKTOP, suiteInBrowser } from '../support/opened-page.js';

suiteInBrowser('the documentation page', (openPage) => {
  test('the page shows a list with ids above 2^53 exactly: as a table, as JSON, and with its header fields', async (t) => {
    const { page, text, list } = await openPage(t);
    await list('key-1');
    const ids = ['1', '9007199254740992', '9007199254740993', '9223372036854775807'];
    const rows = await page.evaluate<string[][]>(
      "Array.from(document.querySelectorAll('.orders tbody tr'), ({ cells }) => Array.from(cells, ({ innerText }) => innerText))",
    );
    assert.deepEqual(
      rows.map(([id]) => id),
      ids,
    );
    assert.deepEqual(rows[2], ['9007199254740993', '8', '', '2030-04-01T07:00:00.500-05:00', 'false', 'Cancel']);
    const listed = await text();
    assert.match(listed, /200 OK\s+\d+ ms · \d+ bytes\s+4 orders/);
    for (const id of ids) assert.match(listed, new RegExp(`^ {4}"id": ${id}\\b`, 'm'));
    await page.locator('#response summary:text-is("Header fields")').click();
    assert.match(await text(), /^content-type: application\/json$[\s\S]*^x-ratelimit-remaining: 4$/m);
    assert.equal(await page.locator('#announcement').innerText(), 'Response 200 OK');
  });

  test('after a cancellation by the form, the list is still shown, and the row of the order shows the outcome; after a 429, another key can be used at once, also pasted as a header field', async (t) => {
    const { page, store, text, list } = await openPage(t);
    await list('key-1');
    for (const [id, status, label] of [
      ['9007199254740993', 204, 'Cancelled'],
      ['9007199254740993', 409, 'Refused'],
      ['12', 404, undefined],
      ['12', 404, undefined],
      ['12', 429, undefined],
    ] as const) {
      await page.locator('#order-id').fill(` ${id} `);
      await page.locator('#send .joined button').click();
      await page.locator('#confirm button[value=cancel]').click();
      await page.locator(`#response .status:text("${status}")`).waitFor();
      assert.equal(await page.locator('.orders tbody tr').count(), 4);
      if (label !== undefined) {
        assert.equal(await page.locator(`[aria-label^="Cancel order ${id}: ${status}"]`).innerText(), label);
      }
    }
    assert.equal(store.get(9007199254740992n)?.status, 'pending');
    assert.match(await text(), /429 Too Many Requests[\s\S]*Wait \d+ s\.\s+rate_limit_exceeded[\s\S]*4 orders/);
    await list('Authorization: Bearer key-2');
    await page.locator('#response .status:text("200")').waitFor();
  });

  test('the page shows and hides the key, writes its own address into samples, and selects a sample that the browser does not copy', async (t) => {
    const { page } = await openPage(t);
    const key = page.locator('#key');
    const shown = async () => [await key.getAttribute('type'), await page.locator('#key-show').innerText()];
    assert.deepEqual(await shown(), ['password', 'Show']);
    await page.locator('#key-show').click();
    assert.deepEqual(await shown(), ['text', 'Hide']);
    await page.locator('#key-show').click();
    assert.deepEqual(await shown(), ['password', 'Show']);

    const origin = await page.evaluate<string>('location.origin');
    const bases = await page.evaluate<string[]>(
      "Array.from(document.querySelectorAll('[data-fill=base]'), ({ textContent }) => textContent)",
    );
    assert.deepEqual([...new Set(bases)], [`${origin}/v1`]);

    await page.evaluate("void (navigator.clipboard.writeText = async () => { throw new Error('denied') })");
    await page.locator('.copy[aria-label="Copy: Request header"]').click();
    await page.locator('#announcement:text-is("The text is selected. Copy it with the keyboard.")').waitFor();
    assert.equal(await page.evaluate('String(getSelection())'), 'Authorization: Bearer $API_KEY');
  });

  test('the page sends no request until the user does', async (t) => {
    const asked: string[] = [];
    const { page } = await openPage(t);
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (!pathname.startsWith('/docs')) asked.push(pathname);
    });
    await page.clock.runFor(31_000);
    assert.deepEqual(asked, []);
  });

  test('the Cancel button of a row cancels only that order, after a confirmation; a refusal disables the button, and its reason is shown below the row', async (t) => {
    const { page, store, list, cancel } = await openPage(t);
    await list('key-1');
    await page.locator('[aria-label="Cancel order 9007199254740993"]').click();
    assert.match(await page.locator('#confirm').innerText(), /Cancel order 9007199254740993\?/);
    await page.locator('#confirm button[value=keep]').click();
    assert.equal(store.get(9007199254740993n)?.status, 'pending');

    await cancel('9007199254740993');
    const done = page.locator('[aria-label="Cancel order 9007199254740993: 204 No Content"]');
    await done.waitFor();
    assert.equal(store.get(9007199254740992n)?.status, 'pending');
    assert.equal(store.get(9007199254740993n)?.status, 'cancelled');
    assert.deepEqual([await done.innerText(), await done.getAttribute('aria-disabled')], ['Cancelled', 'true']);
    assert.equal(await page.locator('.refusal').count(), 0);

    await cancel('1');
    const refused = page.locator('tr:has([aria-label="Cancel order 1: 409 Conflict"]) + .refusal');
    assert.equal(
      await refused.innerText(),
      'order_already_shipped The order has already shipped. A shipped order cannot be cancelled.',
    );
    assert.equal(await page.locator('.refusal').count(), 1);
    const button = page.locator('[aria-label="Cancel order 1: 409 Conflict"]');
    assert.equal(await button.getAttribute('aria-disabled'), 'true', 'a second try would only use up the quota');
  });

  test('the page always shows how much of each quota is left; after a 429, it sends no request until it has counted down the wait', async (t) => {
    const { page, text, list } = await openPage(t);
    await list('key-1');
    const quota = () => page.locator('#quota').innerText();
    assert.match(
      await quota(),
      /minute\s+4 of 5 left\s+full in (?:60|[45]\d) s\s+day\s+999 of 1,000 left\s+full in 2[43] h \d+ min/i,
    );
    // This moves the clock of the page only.
    await page.clock.runFor(15_000);
    assert.match(await quota(), /full in (?:4[0-6]|[23]\d) s[\s\S]*23 h 59 min/);
    for (let i = 0; i < 5; i++) {
      await page.locator('#list').click();
      await page.locator(`#response .status.${i < 4 ? 'good' : 'bad'}`).waitFor();
    }
    assert.match(await quota(), /0 of 5 left/);
    assert.match(await text(), /429 Too Many Requests[\s\S]*Wait (?:60|[45]\d) s\.\s+rate_limit_exceeded/);
    assert.equal(await page.locator('#list').getAttribute('aria-disabled'), 'true');
    await page.locator('#key').focus();
    await page.keyboard.press('Enter');
    assert.match(await page.locator('#announcement').innerText(), /^Wait (?:60|[45]\d) s before/);

    await page.clock.runFor(20_000);
    assert.match(await text(), /Wait (?:4[01]|[23]\d) s\./);
    await page.clock.runFor(42_000);
    assert.match(await text(), /You can send the next request\./);
    assert.equal(await page.locator('#list').getAttribute('aria-disabled'), 'false');
    assert.match(await quota(), /minute\s+5 of 5 left\s+full\s/i);
    await page.locator('#key').fill('key-2');
    assert.equal(await quota(), '', 'no quota is shown for a key that has sent no request');
    assert.match(await page.locator('#quota-of').innerText(), /^Send a request/);
  });

  test('the page can be used with the keyboard alone, and shows which element has the focus', async (t) => {
    const { page, store } = await openPage(t);
    const focused = () => page.evaluate<string>('document.activeElement.id || document.activeElement.ariaLabel');
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const tabTo = async (name: string) => {
      for (let i = 0; (await focused()) !== name; i++) {
        assert.ok(i < 40, `${name} can be reached`);
        await press('Tab');
        assert.equal(await page.evaluate('document.activeElement.matches(":focus-visible")'), true);
      }
    };
    for (const name of ['key', 'key-show', 'list', 'order-id']) await tabTo(name);
    await page.keyboard.type('9007199254740992');
    await page.locator('#key').focus();
    assert.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid');
    await page.keyboard.type('key-1');
    await press('Enter');
    await page.locator('#response details').first().waitFor();
    await tabTo('order-id');
    await press('Enter', 'Tab', 'Enter');
    await page.locator('#response .status:text("204")').waitFor();
    assert.equal(store.get(9007199254740992n)?.status, 'cancelled');
    assert.equal(await focused(), 'order-id', 'the focus returns from the dialog');
    await press('Shift+Tab', 'Enter');
    await page.locator('#response .orders').waitFor();
    await tabTo('Cancel order 9223372036854775807');
    await press('Enter', 'Escape');
    assert.equal(await focused(), 'Cancel order 9223372036854775807');
    await press('Enter', 'Tab', 'Enter');
    await page.locator('[aria-label="Cancel order 9223372036854775807: 204 No Content"]').waitFor();
    assert.equal(store.get(2n ** 63n - 1n)?.status, 'cancelled');
  });

  test('the page explains each error, and links to the documentation of the error code', async (t) => {
    const { page, text } = await openPage(t);
    await page.locator('#list').click();
    await page.locator('#response .bad').waitFor();
    assert.match(await text(), /401 Unauthorized[\s\S]*missing_api_key The API key is missing\./);
    assert.match(await page.locator('#quota-of').innerText(), /your address/);
    await page.locator('#key').fill('key-1');
    for (const [id, code, expected] of [
      ['01', 'invalid_order_id', /404[\s\S]*The order id is not a valid decimal int64/],
      ['12', 'order_not_found', /404[\s\S]*The order does not exist/],
      ['1', 'order_already_shipped', /409[\s\S]*cannot be cancelled/],
    ] as const) {
      await page.locator('#order-id').fill(id);
      await page.locator('#send .joined button').click();
      // An id that no order can have needs no confirmation.
      if (code !== 'invalid_order_id') {
        assert.match(await page.locator('#confirm').innerText(), new RegExp(`Cancel order ${id}\\?`));
        await page.locator('#confirm button[value=cancel]').click();
      }
      await page.locator(`#response .note a[href="#error-${code}"]`).waitFor();
      assert.match(await text(), expected);
    }
    assert.match(await page.locator('#quota-of').innerText(), /this key/);
  });

  test('the page reports that a key cannot be sent in a header field, that no response came, and that the response is not a list', async (t) => {
    const { page, text, goOffline } = await openPage(t);
    await page.locator('#key').fill('ключ');
    await page.locator('#list').click();
    await page.locator('#response .note').waitFor();
    assert.match(await text(), /characters that are not allowed in a header field/);
    await page.locator('#key').fill('key-1');
    await goOffline();
    await page.locator('#list').click();
    await page.locator('#response .note:text("No response")').waitFor();
    await page.evaluate("void (window.fetch = async () => new Response('<html>'))");
    await page.locator('#list').click();
    await page.locator('#response .note:text("not a list of orders")').waitFor();
  });

  test('if the list is very long, the page shows only the first 100 orders', async (t) => {
    const long = Array.from({ length: 200_000 }, (_, id) => ({ id: BigInt(id), shipDate: '",{"' }));
    const { page, text, list } = await openPage(t, DESKTOP, () => long);
    await list('key-1');
    const listed = await text();
    assert.match(listed, /The first 100 orders/);
    assert.match(listed, /… [\d,]+ more characters/);
    assert.equal(await page.locator('.orders tbody tr').count(), 100);
    assert.ok(listed.length > 20_000 && listed.length < 70_000);
  });
});
