import assert from 'node:assert/strict';
import { assertError } from './answer.js';
import type { Clause } from './clause.js';
import { bearer, KEY, ORDERS, order } from './shop.js';

/** The clauses of part 5 of the specification: API keys. */
export const authenticationClauses: readonly Clause[] = [
  {
    id: '5-missing',
    says: 'without an API key, every operation responds with 401 missing_api_key, and a challenge without an error parameter',
    check: async (ask) => {
      for (const fields of [
        [],
        ...['', 'Bearer', 'bearer ', 'Basic dTpw', 'Token business-key', 'business-key', 'Bearerbusiness-key'].map(
          (value): [string, string][] => [['Authorization', value]],
        ),
      ]) {
        for (const [method, path] of [
          ['GET', ORDERS],
          ['DELETE', order(1)],
          ['GET', '/v1/nothing'],
          ['POST', ORDERS],
        ] as const) {
          const answer = await ask(method, path, fields);
          assertError(answer, 'missing_api_key');
          assert.equal(answer.fields.get('www-authenticate'), 'Bearer realm="store-orders"');
        }
      }
    },
  },
  {
    id: '5-invalid',
    says: 'with an invalid key, every operation responds with 401 invalid_api_key and a challenge with error="invalid_token"',
    check: async (ask, { store }) => {
      const long = 'k'.repeat(7_000);
      for (const key of [
        'nobody',
        'business-key2',
        'BUSINESS-KEY',
        'business-key x',
        'business-key,',
        '"business-key"',
        '=',
        'constructor',
        '__proto__',
        'k%31',
        long,
      ]) {
        for (const [method, path] of [
          ['GET', ORDERS],
          ['DELETE', order(1)],
          ['GET', '/v1/nothing'],
        ] as const) {
          const answer = await ask(method, path, [bearer(key)]);
          assertError(answer, 'invalid_api_key');
          assert.equal(answer.fields.get('www-authenticate'), 'Bearer realm="store-orders", error="invalid_token"');
          assert.equal(answer.text.includes(key) && key.length > 1, false, 'the response does not repeat the key');
        }
      }
      assert.equal(store.get(1n)?.status, 'pending');
    },
  },
  {
    id: '5-two-schemes',
    says: 'a request with two Authorization fields gets 401 invalid_api_key, even if one of them is empty or has another scheme',
    verbatim: true,
    check: async (ask) => {
      for (const other of ['Basic dTpw', '']) {
        assertError(await ask('GET', ORDERS, [['Authorization', other], KEY]), 'invalid_api_key');
        assertError(await ask('GET', ORDERS, [KEY, ['AUTHORIZATION', other]]), 'invalid_api_key');
      }
    },
  },
];
