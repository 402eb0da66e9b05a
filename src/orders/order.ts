/** An int64 identifier, −2^63 … 2^63−1 (specification, part 2). A bigint, because a number is exact to 2^53 only. */
export type OrderId = bigint;

/**
 * One order as the wire shows it (specification, part 2). A field that is not known is absent, never `null`.
 * The status is not part of it: see {@link OrderRecord}.
 */
export interface Order {
  readonly id: OrderId;
  /** int64 identifier of the animal. */
  readonly petId?: bigint | undefined;
  /** A safe integer. */
  readonly quantity?: number | undefined;
  /** RFC 3339 date-time, kept as it was written. */
  readonly shipDate?: string | undefined;
  readonly complete?: boolean | undefined;
}

export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

const CANONICAL_INTEGER = /^(?:0|-?[1-9][0-9]{0,18})$/;

/**
 * Reads the canonical decimal form of an int64: no sign but `-`, no leading zero, no exponent, no percent-encoding.
 * Anything else (`01`, `+1`, `1e0`, `0x1`, `-0`, 2^63) names no order and gives `undefined`, so that exactly one
 * text names each order.
 */
export function parseOrderId(text: string): OrderId | undefined {
  if (!CANONICAL_INTEGER.test(text)) return undefined;
  const id = BigInt(text);
  return id >= INT64_MIN && id <= INT64_MAX ? id : undefined;
}
