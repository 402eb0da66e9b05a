import type { OrderRecord } from '../../orders/record.js';
import type { OwnedOrderStore } from '../../orders/store.js';
import type { KeyRing } from '../keys/key-ring.js';
import type { BackendState } from '../listener/health.js';
import type { QuotaTable } from '../quotas/table.js';

/** Everything that the program stores. */
export interface Storage {
  /** Its name in messages and logs, without a password. */
  readonly name: string;
  readonly orders: OwnedOrderStore;
  readonly keys: KeyRing;
  /** Where quotas are saved. Absent if they are counted outside this process. */
  readonly quotas?: QuotaTable;
  /** Whether opening created it and no other process uses it. */
  readonly isNew: boolean;
  /** Returns every order, ascending by id, all of the same moment. */
  records(): Iterable<readonly OrderRecord[]> | AsyncIterable<readonly OrderRecord[]>;
  /** Returns whether it can be read. If this throws or rejects, it cannot. */
  state(): BackendState | Promise<BackendState>;
  /**
   * From now on, calls no longer block the process while another process holds the lock. They are
   * retried instead.
   */
  neverBlock(): void;
  close(): Promise<void>;
  /** Closes it, and removes what opening it has created. */
  discard(): Promise<void>;
}

export type OpenOutcome<Opened extends Storage = Storage> =
  | { readonly ok: true; readonly data: Opened }
  | { readonly ok: false; readonly message: string };
