import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcementFields } from 'store-orders/guard';

const deprecatedAt = new Date('2023-06-30T23:59:59.999Z');
const sunsetAt = new Date('2024-06-30T23:59:59Z');
const documentation = 'https://store.example/docs/pets';

test('announcementFields returns the dates and the documentation of an operation, with the relation that applies (RFC 9745, RFC 8594)', () => {
  const deprecation = ['Deprecation', '@1688169599'];
  const sunset = ['Sunset', 'Sun, 30 Jun 2024 23:59:59 GMT'];
  const link = (relation: string, rest = '') => [
    'Link',
    `<${documentation}${rest}>; rel="${relation}"; type="text/html"`,
  ];
  for (const [announcement, ...fields] of [
    [{ deprecatedAt, sunsetAt, documentation }, deprecation, sunset, link('deprecation')],
    [{ deprecatedAt, sunsetAt }, deprecation, sunset],
    [{ deprecatedAt: sunsetAt, sunsetAt }, ['Deprecation', '@1719791999'], sunset],
    [{ sunsetAt, documentation }, sunset, link('sunset')],
    [{ documentation }, link('service-doc')],
    // A > or a line break must not end the link.
    [{ documentation: `${documentation}/>?\r\nX: y` }, link('service-doc', '/%3E?X:%20y')],
    [{}],
  ] as const) {
    assert.deepEqual(announcementFields(announcement), fields);
  }
});

test('announcementFields throws an error that names the invalid option', () => {
  const never = new Date('never');
  const tooEarly = { deprecatedAt: sunsetAt, sunsetAt: deprecatedAt };
  for (const [announcement, name, message] of [
    [tooEarly, 'RangeError', 'sunsetAt: expected an instant that is not before deprecatedAt'],
    [{ deprecatedAt: never }, 'RangeError', 'deprecatedAt: expected a valid Date'],
    [{ sunsetAt: never }, 'RangeError', 'sunsetAt: expected a valid Date'],
    [{ documentation: 'docs' }, 'TypeError', 'documentation: expected an absolute URL'],
  ] as const) {
    assert.throws(() => Reflect.apply(announcementFields, undefined, [announcement]), { name, message });
  }
});
