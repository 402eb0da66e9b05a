/**
 * Every `code` of an Error object of this service. (The specification, part 7, does not define the
 * values.)
 */
export type ErrorCode =
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'order_not_found'
  | 'invalid_order_id'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'order_already_shipped'
  | 'order_already_cancelled'
  | 'order_not_pending'
  | 'precondition_failed'
  | 'rate_limit_exceeded'
  | 'api_key_banned'
  | 'bad_request'
  | 'request_timeout'
  | 'uri_too_long'
  | 'headers_too_large'
  | 'internal_error'
  | 'method_not_implemented'
  | 'service_unavailable';

/** The Error object (specification, part 2) with exactly these three fields. */
export interface ErrorObject {
  readonly code: ErrorCode;
  readonly message: string;
  /** The HTTP status. */
  readonly status: number;
}

const ERRORS: Readonly<Record<ErrorCode, readonly [status: number, message: string]>> = {
  missing_api_key: [401, 'No API key was sent. Send it as "Authorization: Bearer <API key>".'],
  invalid_api_key: [401, 'The API key is not valid. Check that it is complete, sent once, and not revoked.'],
  order_not_found: [404, 'There is no order with this id. List the orders to see which ids there are.'],
  invalid_order_id: [
    404,
    'The order id is no int64 in plain decimal form, so no such order can exist. Send it as listed.',
  ],
  route_not_found: [404, 'There is nothing at this path. The orders are at /store/orders below the base address.'],
  method_not_allowed: [405, 'The path does not support this method. Use one that the Allow header lists.'],
  order_already_shipped: [409, 'The order has shipped already. A shipped order cannot be cancelled.'],
  order_already_cancelled: [409, 'The order was cancelled already. Nothing is left to do.'],
  order_not_pending: [409, 'The order is not pending. Only a pending order can be cancelled.'],
  precondition_failed: [
    412,
    'The If-Match condition is false, so nothing was done. Send the current ETag of the list; an order has none.',
  ],
  rate_limit_exceeded: [429, 'The rate limit is exceeded. Wait for the seconds in the Retry-After header, then retry.'],
  api_key_banned: [
    429,
    'The API key is banned for a time, because requests went on after 429. Wait for the seconds in the Retry-After header.',
  ],
  bad_request: [400, 'The request is not valid HTTP. Check its request line and header fields.'],
  request_timeout: [408, 'The request did not arrive in time. Send it again, without pausing.'],
  uri_too_long: [414, 'The request target is too long. No address of this service is.'],
  headers_too_large: [431, 'The header fields are too large. Send fewer or shorter ones.'],
  internal_error: [500, 'The service failed in an unforeseen way. Retry later; if it stays so, tell its operator.'],
  method_not_implemented: [501, 'No path supports this method. Use GET, HEAD or DELETE, in capital letters.'],
  service_unavailable: [
    503,
    'The service cannot answer at the moment. Retry after the seconds in the Retry-After header.',
  ],
};

/** Every error code. */
// Complete, because ERRORS does not compile if a code is missing or unknown.
export const ERROR_CODES: readonly ErrorCode[] = Object.keys(ERRORS) as ErrorCode[];

export function errorObject(code: ErrorCode): ErrorObject {
  const [status, message] = ERRORS[code];
  return { code, message, status };
}
