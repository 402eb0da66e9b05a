const ERRORS = {
  missing_api_key: [401, 'The API key is missing. Send it as "Authorization: Bearer <API key>".'],
  invalid_api_key: [401, 'The API key is not valid. Check that it is complete, sent only once and not revoked.'],
  order_not_found: [404, 'The order does not exist. Use an id from the list of orders.'],
  invalid_order_id: [404, 'The order id is not a valid decimal int64. Use the id exactly as listed.'],
  route_not_found: [404, 'The path does not exist. The orders are at /store/orders under the base address.'],
  method_not_allowed: [405, 'The path does not support this method. Use a method listed in the Allow header.'],
  order_already_shipped: [409, 'The order has already shipped. A shipped order cannot be cancelled.'],
  order_already_cancelled: [409, 'The order is already cancelled. No further action is needed.'],
  order_not_pending: [409, 'The order is not pending. Only a pending order can be cancelled.'],
  precondition_failed: [412, 'The If-Match condition failed. Omit If-Match or, for the list, send its current ETag.'],
  rate_limit_exceeded: [429, 'The rate limit is exceeded. Wait the number of seconds in Retry-After, then retry.'],
  api_key_banned: [429, 'The API key is temporarily banned. After a 429, wait the number of seconds in Retry-After.'],
  bad_request: [400, 'The request is not valid HTTP. Check its request line and header fields.'],
  request_timeout: [408, 'The request did not arrive in time. Send it again without pausing.'],
  uri_too_long: [414, 'The request target is too long. Shorten the path and the query string.'],
  headers_too_large: [431, 'The header fields are too large. Send fewer or shorter fields.'],
  internal_error: [500, 'The service failed unexpectedly. Retry later. If the error persists, contact the operator.'],
  method_not_implemented: [501, 'The method is not supported. Use GET, HEAD or DELETE, in capital letters.'],
  service_unavailable: [503, 'The service is unavailable. Wait the number of seconds in Retry-After, then retry.'],
} as const satisfies Readonly<Record<string, readonly [status: number, message: string]>>;

/** The `code` of an Error object. The specification (part 7) leaves its values to the service. */
export type ErrorCode = keyof typeof ERRORS;

/** Every code of an Error object. */
export const ERROR_CODES: readonly ErrorCode[] = Object.keys(ERRORS) as ErrorCode[];

/**
 * Returns the Error object (specification, part 2), which has exactly these three fields. `message`
 * replaces the text of the code: a 400 of the host can say which parameter is wrong.
 */
export function errorObject(code: ErrorCode, message: string = ERRORS[code][1]) {
  const [status] = ERRORS[code];
  return { code, message, status };
}
