/**
 * An int64 identifier, −2^63 … 2^63−1 (specification, part 2). A bigint, because a number is exact
 * only up to 2^53.
 */
export type OrderId = bigint;

/**
 * An order as the API returns it (specification, part 2). A field without a value is absent, never
 * `null`. The status is not included: see {@link OrderRecord}.
 */
export interface Order {
  readonly id: OrderId;
  /** The animal's int64 identifier. */
  readonly petId?: bigint | undefined;
  /** A safe integer. */
  readonly quantity?: number | undefined;
  /** RFC 3339 date-time, kept as written. */
  readonly shipDate?: string | undefined;
  readonly complete?: boolean | undefined;
}

export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

const CANONICAL_INTEGER = /^(?:0|-?[1-9][0-9]{0,18})$/;

/**
 * Parses the canonical decimal form of an int64: no sign but `-`, no leading zero, no exponent, no
 * percent-encoding. Returns `undefined` for anything else (`01`, `+1`, `1e0`, `0x1`, `-0`, 2^63),
 * so that every id has exactly one spelling.
 */
export function parseOrderId(text: string): OrderId | undefined {
  if (!CANONICAL_INTEGER.test(text)) return undefined;
  const id = BigInt(text);
  return id >= INT64_MIN && id <= INT64_MAX ? id : undefined;
}
