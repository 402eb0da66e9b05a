import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcementFields } from 'store-orders/guard';

const deprecatedAt = new Date('2023-06-30T23:59:59Z');
const sunsetAt = new Date('2024-06-30T23:59:59Z');
const documentation = 'https://store.example/docs/pets';

const linkOf = (announcement: Parameters<typeof announcementFields>[0]) =>
  new Headers(announcementFields(announcement)).get('link') ?? '';

test('a deprecated operation announces its dates and its documentation (RFC 9745, RFC 8594)', () => {
  assert.deepEqual(announcementFields({ deprecatedAt, sunsetAt, documentation }), [
    ['Deprecation', '@1688169599'],
    ['Sunset', 'Sun, 30 Jun 2024 23:59:59 GMT'],
    ['Link', '<https://store.example/docs/pets>; rel="deprecation"; type="text/html"'],
  ]);
  const headers = new Headers(announcementFields({ deprecatedAt, sunsetAt }));
  assert.deepEqual([headers.get('deprecation'), headers.has('link')], ['@1688169599', false]);
});

test('without deprecatedAt, the Link field has rel="sunset" if there is an end date, and rel="service-doc" if there is none', () => {
  assert.match(linkOf({ sunsetAt, documentation }), /rel="sunset"/);
  assert.match(linkOf({ documentation }), /rel="service-doc"/);
  assert.deepEqual(announcementFields({}), []);
});

test('announcementFields throws an error that names the invalid option', () => {
  const never = new Date('never');
  for (const [announcement, message] of [
    [{ deprecatedAt: sunsetAt, sunsetAt: deprecatedAt }, /^RangeError: sunsetAt: /],
    [{ deprecatedAt: never }, /^RangeError: deprecatedAt: /],
    [{ sunsetAt: never }, /^RangeError: sunsetAt: /],
    [{ deprecatedAt: '2026' }, /^TypeError: deprecatedAt: /],
    [{ sunsetAt: 2026 }, /^TypeError: sunsetAt: /],
    [{ deprecated: true }, /^TypeError: deprecated: /],
    [{ documentation: 'docs' }, /^TypeError: documentation: /],
    [null, /^TypeError: options: /],
  ] as const) {
    assert.throws(() => Reflect.apply(announcementFields, undefined, [announcement]), message);
  }
});

test('a > or a line break in the documentation address cannot break the Link field', () => {
  const link = linkOf({ documentation: 'https://store.example/a>b?\r\nX: y' });
  assert.match(link, /^<[^<>\r\n]*>; [^\r\n]*$/);
});
