import fc from 'fast-check';
import type { OrderRecord } from 'store-orders';
import { INT64_MAX, INT64_MIN } from './ids.js';

/** Ids at the limits of an int64, around zero, and around 2^53, where a double becomes inexact. */
export const EDGE_IDS = [INT64_MIN, -1n, 0n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, INT64_MAX];

export const int64 = fc.oneof(fc.bigInt({ min: INT64_MIN, max: INT64_MAX }), fc.constantFrom(...EDGE_IDS));

const shipDate = fc
  .tuple(
    fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }),
    fc.constantFrom('Z', 'z', '+05:45', '-00:00', '+23:59'),
  )
  .map(([date, offset]) => date.toISOString().replace('Z', offset));

const FIELDS: { readonly [Name in keyof Required<OrderRecord>]: fc.Arbitrary<NonNullable<OrderRecord[Name]>> } = {
  id: int64,
  petId: int64,
  quantity: fc.maxSafeInteger(),
  shipDate,
  complete: fc.boolean(),
  status: fc.constantFrom('pending', 'shipped', 'cancelled', 'on_hold'),
};

/** Any record that a store may hold. Every field except `id` and `status` may be absent. */
export const orderRecord: fc.Arbitrary<OrderRecord> = fc.record(FIELDS, {
  requiredKeys: ['id', 'status'],
  noNullPrototype: true,
});

/** Records with different ids. */
export const orderRecords = fc.uniqueArray(orderRecord, { selector: (record) => record.id, maxLength: 20 });
