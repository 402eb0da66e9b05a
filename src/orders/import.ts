import type { OrderId } from './order.js';
import type { OrderRecord } from './record.js';
import type { PutOutcome } from './store.js';

/** An order of an import, with the line of the file on which it begins. */
export interface ImportedRecord {
  readonly record: OrderRecord;
  readonly line: number;
}

/** Unless the outcome is `stored` or `unknown`, nothing was stored. */
export type ImportOutcome =
  | Extract<PutOutcome, { outcome: 'stored' }>
  /** The order on this line has an id that exists already. */
  | { readonly outcome: 'exists'; readonly id: OrderId; readonly line: number }
  /** The orders on these two lines have the same id. */
  | { readonly outcome: 'twice'; readonly id: OrderId; readonly line: number; readonly earlier: number }
  /** The commit has failed in a way that does not show whether the orders are stored. */
  | { readonly outcome: 'unknown'; readonly cause: unknown };
