import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MaybePromise, PLANS, type Principal } from 'store-orders';
import { createKeyAuthenticator } from 'store-orders/handler';

const shop: Principal = { id: 'shop', plan: PLANS.pro };
const ann: Principal = { id: 'ann', plan: PLANS.free };

test('createKeyAuthenticator finds the principal of a known key, and none for a key that differs in one character', () => {
  const authenticate: (apiKey: string) => MaybePromise<Principal | undefined> = createKeyAuthenticator({
    'open-sesame': shop,
    '4711': ann,
    ['__proto__']: ann,
  });
  assert.equal(authenticate('open-sesame'), shop);
  assert.equal(authenticate('4711'), ann);
  assert.equal(authenticate('__proto__'), ann);
  for (const text of ['', 'open-sesam', 'open-sesame1', 'Open-sesame', ' open-sesame', 'toString', 'constructor']) {
    assert.equal(authenticate(text), undefined, text);
  }
});

test('the keys are read once, so later changes of the object have no effect', () => {
  const keys: Record<string, Principal> = { 'open-sesame': shop };
  const authenticate = createKeyAuthenticator(keys);
  delete keys['open-sesame'];
  keys['another'] = ann;
  assert.equal(authenticate('open-sesame'), shop);
  assert.equal(authenticate('another'), undefined);
});

const WRONG: readonly (readonly [keys: unknown, message: string])[] = [
  [undefined, 'keys: expected an object that maps each API key to a principal'],
  [null, 'keys: expected an object that maps each API key to a principal'],
  [{ '': ann }, 'keys: entry 1: expected an API key of letters, digits and "-._~+/", perhaps with "=" at its end'],
  [
    { ok: shop, 'se cret': ann },
    'keys: entry 2: expected an API key of letters, digits and "-._~+/", perhaps with "=" at its end',
  ],
  // The key comes from an environment variable that is not set.
  [
    { [`${undefined}`]: ann },
    'keys: entry 1: expected an API key of letters, digits and "-._~+/", perhaps with "=" at its end',
  ],
  [{ secret: { plan: PLANS.free } }, 'keys: entry 1: expected a principal with an id that is not the API key itself'],
  [
    { secret: { ...ann, id: 'secret' } },
    'keys: entry 1: expected a principal with an id that is not the API key itself',
  ],
  [{ secret: undefined }, 'keys: entry 1: expected a principal with an id that is not the API key itself'],
  [{ secret: { id: 'ann' } }, 'keys: entry 1: expected a principal with a plan, such as PLANS.free'],
];

test('an error names an invalid key or principal by its position, and never repeats a key', () => {
  for (const [keys, message] of WRONG) {
    assert.throws(() => Reflect.apply(createKeyAuthenticator, undefined, [keys]), { name: 'TypeError', message });
    assert.ok(!message.includes('secret'));
  }
});
