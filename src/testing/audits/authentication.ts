import assert from 'node:assert/strict';
import { PLANS } from '../../limits/index.js';
import { bearer, type Clause, ORDERS_PATH, orderPath } from './audit.js';
import { assertError } from './response.js';

const REQUESTS = [
  ['GET', ORDERS_PATH],
  ['DELETE', orderPath(1)],
] as const;

/** Keys that a server must not take for `key`. */
function similarKeys(key: string): readonly string[] {
  return ['nobody', `${key}2`, key.slice(0, -1), `${key} x`, `${key},`, `"${key}"`, `%${key}`, '=', '__proto__'];
}

/** The clauses of the specification's part 5 (authentication). */
export const authenticationClauses: readonly Clause[] = [
  {
    id: '5-missing',
    level: 'MUST',
    requirement: 'respond with 401 to every operation without an API key, and cancel nothing',
    needs: ['store'],
    async check({ ask, put, issueKey }) {
      await put({ id: 1 });
      const key = await issueKey(PLANS.business);
      for (const value of [undefined, 'Bearer', 'bearer ', 'Basic dTpw', `Token ${key}`, key, `Bearer${key}`]) {
        for (const [method, path] of REQUESTS) {
          const fields = value === undefined ? [] : [['Authorization', value] as const];
          assertError(await ask(method, path, ...fields), 401, `${method} with ${value?.replace(key, 'KEY')}`);
        }
      }
      assert.equal((await ask('DELETE', orderPath(1), bearer(key))).status, 204, 'order 1 must still be pending');
    },
  },
  {
    id: '5-invalid',
    level: 'MUST',
    requirement: 'respond with 401 to every operation with an invalid key, and cancel nothing',
    needs: ['store'],
    async check({ ask, put, issueKey }) {
      await put({ id: 1 });
      const key = await issueKey(PLANS.business);
      const names = similarKeys('KEY');
      for (const [index, other] of [...similarKeys(key), 'k'.repeat(7_000)].entries()) {
        for (const [method, path] of REQUESTS) {
          const response = await ask(method, path, bearer(other));
          assertError(response, 401, `${method} with ${names[index] ?? 'a long key'}`);
          assert.ok(!response.text.includes(other) || other.length === 1, 'the response must not repeat the key');
        }
      }
      assert.equal((await ask('DELETE', orderPath(1), bearer(key))).status, 204, 'order 1 must still be pending');
    },
  },
  {
    id: '5-challenge',
    level: 'MUST',
    requirement:
      'send a Bearer challenge with every 401, but an error attribute in it only if a token was sent (RFC 6750, section 3)',
    async check({ ask }) {
      const missing = (await ask('GET', ORDERS_PATH)).headers.get('www-authenticate') ?? '';
      const invalid = (await ask('GET', ORDERS_PATH, bearer('nobody'))).headers.get('www-authenticate') ?? '';
      for (const challenge of [missing, invalid]) assert.match(challenge, /^Bearer\b/);
      assert.doesNotMatch(missing, /error=/);
      assert.match(invalid, /error="invalid_token"/);
    },
  },
  {
    id: '5-scheme',
    level: 'MUST',
    requirement: 'accept the field name and the scheme in any letter case (RFC 9110, sections 5.1 and 11.1)',
    async check({ ask, issueKey }) {
      const key = await issueKey(PLANS.business);
      for (const [name, scheme] of [
        ['authorization', 'Bearer'],
        ['AUTHORIZATION', 'bearer'],
        ['Authorization', 'BEARER  '],
        ['Authorization', 'bEaReR'],
      ] as const) {
        assert.equal((await ask('GET', ORDERS_PATH, [name, `${scheme} ${key}`])).status, 200, `${name}: ${scheme}`);
      }
    },
  },
  {
    id: '5-two',
    level: 'SHOULD',
    requirement: 'reject a request with two Authorization fields, even if both have the same valid key',
    async check({ ask, issueKey }) {
      const key = await issueKey(PLANS.business);
      for (const [first, second] of [
        [key, key],
        [key, 'nobody'],
        ['nobody', key],
      ] as const) {
        assertError(await ask('GET', ORDERS_PATH, bearer(first), bearer(second)), 401);
      }
    },
  },
];
