import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Authenticate, PLANS, type Principal } from 'store-orders';
import { createKeyAuthenticator } from 'store-orders/handler';

const shop: Principal = { id: 'shop', plan: PLANS.pro };
const ann: Principal = { id: 'ann', plan: PLANS.free };

test('createKeyAuthenticator finds the principal of a known key, and none for a key that differs in one character', () => {
  const keys: Record<string, Principal> = { 'open-sesame': shop, '4711': ann, ['__proto__']: ann, 'Aa0-._~+/==': ann };
  const authenticate: Authenticate = createKeyAuthenticator(keys);
  // Later changes of the object have no effect.
  delete keys['open-sesame'];
  assert.equal(authenticate('open-sesame'), shop);
  for (const key of ['4711', '__proto__', 'Aa0-._~+/==']) assert.equal(authenticate(key), ann, key);
  for (const text of ['', 'open-sesam', 'open-sesame1', 'Open-sesame', ' open-sesame', 'toString', 'constructor']) {
    assert.equal(authenticate(text), undefined, text);
  }
});

const NO_OBJECT = 'keys: expected an object that maps each API key to a principal';
const INVALID_KEY =
  'expected an API key of letters, digits and "-._~+/", perhaps with "=" at its end, and not "undefined"';
const INVALID_PRINCIPAL = 'expected a principal with a plan, and with an id that is not the API key itself';

test('an error names an invalid key or principal by its position, and never repeats a key', () => {
  const rows: readonly (readonly [keys: unknown, message: string])[] = [
    ...[null, new Map([['sesame', ann]]), ['sesame']].map((keys) => [keys, NO_OBJECT] as const),
    [{ '': ann }, `keys: entry 1: ${INVALID_KEY}`],
    [{ ok: shop, 'se cret': ann }, `keys: entry 2: ${INVALID_KEY}`],
    // The key comes from an environment variable that is not set.
    [{ [`${undefined}`]: ann }, `keys: entry 1: ${INVALID_KEY}`],
    [{ secret: { plan: PLANS.free } }, `keys: entry 1: ${INVALID_PRINCIPAL}`],
    [{ secret: { ...ann, id: 'secret' } }, `keys: entry 1: ${INVALID_PRINCIPAL}`],
    [{ secret: undefined }, `keys: entry 1: ${INVALID_PRINCIPAL}`],
    [{ secret: { id: 'ann' } }, `keys: entry 1: ${INVALID_PRINCIPAL}`],
  ];
  for (const [keys, message] of rows) {
    assert.throws(() => Reflect.apply(createKeyAuthenticator, undefined, [keys]), { name: 'TypeError', message });
  }
});
