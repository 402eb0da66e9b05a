import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcementFields } from 'store-orders/guard';

const deprecatedAt = new Date('2023-06-30T23:59:59Z');
const sunsetAt = new Date('2024-06-30T23:59:59Z');
const documentation = 'https://store.example/docs/pets';

test('announcementFields returns the dates and the documentation of an operation, with the relation that applies (RFC 9745, RFC 8594)', () => {
  const deprecation = ['Deprecation', '@1688169599'];
  const sunset = ['Sunset', 'Sun, 30 Jun 2024 23:59:59 GMT'];
  const link = (relation: string) => ['Link', `<${documentation}>; rel="${relation}"; type="text/html"`];
  for (const [announcement, ...fields] of [
    [{ deprecatedAt, sunsetAt, documentation }, deprecation, sunset, link('deprecation')],
    [{ deprecatedAt, sunsetAt }, deprecation, sunset],
    [{ deprecatedAt: sunsetAt, sunsetAt }, ['Deprecation', '@1719791999'], sunset],
    [{ sunsetAt, documentation }, sunset, link('sunset')],
    [{ documentation }, link('service-doc')],
    [{}],
  ] as const) {
    assert.deepEqual(announcementFields(announcement), fields);
  }
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
  const [[, link] = assert.fail()] = announcementFields({ documentation: 'https://store.example/a>b?\r\nX: y' });
  assert.match(link, /^<[^<>\r\n]*>; [^\r\n]*$/);
});
