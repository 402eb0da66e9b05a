import assert from 'node:assert/strict';
import { type Clause, ORDERS_PATH, orderPath } from './audit.js';

/** The clauses about methods and paths for which the specification (part 4) has no operation. */
export const routeClauses: readonly Clause[] = [
  {
    id: '4-method',
    level: 'MUST',
    requirement:
      'respond with 405 to a method that the path does not support, change nothing, and list the supported methods in Allow (RFC 9110, section 15.5.6)',
    needs: ['store'],
    async check(subject) {
      await subject.put({ id: 1 });
      for (const [path, allowed, methods] of [
        [ORDERS_PATH, ['GET', 'HEAD'], ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']],
        [orderPath(1), ['DELETE'], ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'OPTIONS']],
      ] as const) {
        for (const method of methods) {
          const { status, headers } = await subject.askWithKey(method, path);
          assert.equal(status, 405, `${method} ${path}`);
          assert.deepEqual(headers.get('allow')?.split(/, */).sort(), allowed, `Allow of ${method} ${path}`);
        }
      }
      assert.equal((await subject.askWithKey('DELETE', orderPath(1))).status, 204, 'order 1 must still be pending');
    },
  },
  {
    id: '4-path',
    level: 'MUST',
    requirement: 'respond with 404 to every path that the specification does not define',
    needs: ['store'],
    async check(subject) {
      await subject.put({ id: 1 });
      for (const path of [
        ...['', '/', '/store', '/store/order', '/STORE/ORDERS', '//store/orders', '/store%2Forders', '/%73tore/orders'],
        ...[`${ORDERS_PATH}/`, `${ORDERS_PATH}//`, `${ORDERS_PATH}x`, `${ORDERS_PATH};x=1`],
        ...[`${ORDERS_PATH}/1/`, `${ORDERS_PATH}/1/2`, `${ORDERS_PATH}//1`, '/store//orders/1', `/?${ORDERS_PATH}`],
      ]) {
        for (const method of ['GET', 'DELETE']) {
          assert.equal((await subject.askWithKey(method, path)).status, 404, `${method} ${path}`);
        }
      }
      assert.equal((await subject.askWithKey('DELETE', orderPath(1))).status, 204, 'order 1 must still be pending');
    },
  },
];
