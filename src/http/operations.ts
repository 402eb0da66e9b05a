import type { ErrorCode } from './errors.js';

interface Operation {
  readonly method: 'GET' | 'DELETE';
  readonly path: '/store/orders' | '/store/orders/{orderId}';
  /** The statuses of its successful responses. */
  readonly success: readonly number[];
  /** The errors that only this operation can have. */
  readonly errors: readonly ErrorCode[];
}

/**
 * The operations of the specification, part 4. Routing, the field `Allow`, the metrics, the OpenAPI
 * document and the documentation page follow from this table.
 */
export const OPERATIONS = {
  listOrders: { method: 'GET', path: '/store/orders', success: [200, 304], errors: [] },
  cancelOrder: {
    method: 'DELETE',
    path: '/store/orders/{orderId}',
    success: [204],
    errors: [
      'order_not_found',
      'invalid_order_id',
      'order_already_shipped',
      'order_already_cancelled',
      'order_not_pending',
    ],
  },
} as const satisfies Readonly<Record<string, Operation>>;

/** The name of an operation in the specification. */
export type OperationName = keyof typeof OPERATIONS;

/** The names of all operations, for example to create metrics for each. */
export const OPERATION_NAMES: readonly OperationName[] = Object.keys(OPERATIONS) as OperationName[];

/** Returns the operations of a path by method. HEAD has the operation of GET. */
export function operationsAt(path: Operation['path']): ReadonlyMap<string, OperationName> {
  const operations = new Map<string, OperationName>();
  for (const name of OPERATION_NAMES.filter((name) => OPERATIONS[name].path === path)) {
    const { method } = OPERATIONS[name];
    operations.set(method, name);
    if (method === 'GET') operations.set('HEAD', name);
  }
  return operations;
}
