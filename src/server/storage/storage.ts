import type { OrderRecord } from '../../orders/record.js';
import type { OwnedOrderStore, PutOutcome } from '../../orders/store.js';
import type { KeyRing } from '../keys/key-ring.js';
import type { BackendState } from '../listener/health.js';
import type { QuotaTable } from '../quotas/table.js';

/** Everything that the program keeps. */
export interface Storage {
  /** As messages and logs call it; no password is in it. */
  readonly name: string;
  readonly orders: OwnedOrderStore;
  readonly keys: KeyRing;
  /** Where quotas are saved; absent where they are counted outside of this process. */
  readonly quotas?: QuotaTable;
  /** Whether opening it made it, and nobody else has it. */
  readonly isNew: boolean;
  /** Every order, ascending by id, all of one moment. */
  records(): Iterable<readonly OrderRecord[]> | AsyncIterable<readonly OrderRecord[]>;
  /** Stores records whose ids differ, all of them or none, in memory for some batches only. */
  importRecords(batches: AsyncIterable<readonly OrderRecord[]>, replace: boolean): Promise<PutOutcome>;
  /** Whether it can be read. A throw or a rejection means that it cannot. */
  state(): BackendState | Promise<BackendState>;
  /** From now on no call blocks the process until another one's lock is gone: what meets one is tried again. */
  neverBlock(): void;
  close(): Promise<void>;
  /** Closes it, and removes what opening it has made. */
  discard(): Promise<void>;
}

export type OpenOutcome<Opened extends Storage = Storage> =
  | { readonly ok: true; readonly data: Opened }
  | { readonly ok: false; readonly message: string };
