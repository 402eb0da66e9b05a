import { ERROR_CODES, type ErrorCode } from './errors.js';

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

export const OPERATION_NAMES: readonly OperationName[] = Object.keys(OPERATIONS) as OperationName[];

/** The errors of requests that match no operation. */
export const ERRORS_ELSEWHERE: readonly ErrorCode[] = [
  'route_not_found',
  'method_not_allowed',
  'method_not_implemented',
];

/** Returns the errors that an operation can have: its own, and those of all operations. */
export function errorsOf(name: OperationName): readonly ErrorCode[] {
  const { errors }: Operation = OPERATIONS[name];
  const special = new Set([
    ...ERRORS_ELSEWHERE,
    ...OPERATION_NAMES.flatMap<ErrorCode>((name) => OPERATIONS[name].errors),
  ]);
  return ERROR_CODES.filter((code) => errors.includes(code) || !special.has(code));
}

/** What one path supports. */
export interface Resource {
  /** The operations by method. A GET also has HEAD. */
  readonly operations: ReadonlyMap<string, OperationName>;
  /** The value of the field `Allow`. */
  readonly allow: string;
}

export function resourceAt(path: Operation['path']): Resource {
  const names = OPERATION_NAMES.filter((name) => OPERATIONS[name].path === path);
  const operations = new Map(
    names.flatMap((name) => methodsOf(OPERATIONS[name]).map((method) => [method, name] as const)),
  );
  return { operations, allow: [...operations.keys()].join(', ') };
}

function methodsOf({ method }: Operation): readonly string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}
