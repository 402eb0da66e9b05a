import type { OrderRecord } from '../../orders/record.js';
import type { OwnedOrderStore, PutOutcome } from '../../orders/store.js';
import type { KeyRing } from '../keys/key-ring.js';
import type { BackendState } from '../listener/health.js';
import type { QuotaTable } from '../quotas/table.js';

/** The storage of the program: orders, keys and quotas. */
export interface Storage {
  /** The storage's name in messages and logs, without a password. */
  readonly name: string;
  readonly orders: OwnedOrderStore;
  readonly keys: KeyRing;
  /**
   * The saved quotas. Absent if the storage is PostgreSQL, because Redis then counts the quotas.
   */
  readonly quotas?: QuotaTable;
  /** True if opening has created the storage and no other process can have used it. */
  readonly isNew: boolean;
  /** Returns every order, ascending by id, from one snapshot. */
  records(): Iterable<readonly OrderRecord[]> | AsyncIterable<readonly OrderRecord[]>;
  /**
   * Stores all records or none of them. Their ids must differ. Only a few batches are in memory at
   * a time.
   */
  importRecords(batches: AsyncIterable<readonly OrderRecord[]>, replace: boolean): Promise<PutOutcome>;
  /** Returns the state of the storage. Throws or rejects if the storage cannot be read. */
  state(): BackendState | Promise<BackendState>;
  /**
   * Prepares for serving requests. From then on, no call on this thread waits for a lock of another
   * process.
   */
  neverBlock(): void;
  close(): Promise<void>;
  /** Closes the storage and removes the files that opening it created. */
  discard(): Promise<void>;
}

export type OpenOutcome<Opened extends Storage = Storage> =
  | { readonly ok: true; readonly data: Opened }
  | { readonly ok: false; readonly message: string };
