import type { OrderRecord, OwnedOrderStore } from '../../orders/index.js';
import type { ImportedRecord, ImportOutcome } from '../../orders/sqlite/engine.js';
import type { BackendState } from '../../server/index.js';
import type { KeyRing } from '../keys/key-ring.js';
import type { QuotaTable, SavedQuotas } from './quota-table.js';

/** The storage of a server. No call waits on this thread for a disk or for a lock. */
export interface ServerStorage {
  /** The storage's name in messages and logs, without a password. */
  readonly name: string;
  readonly orders: OwnedOrderStore;
  readonly keys: KeyRing;
  /** Absent if the storage is PostgreSQL, because Redis then counts the quotas. */
  readonly quotas?: SavedQuotas;
  /** Returns the state of the storage. Throws or rejects if the storage cannot be read. */
  state(): BackendState | Promise<BackendState>;
  close(): Promise<void>;
}

/** The storage of a command: orders, keys and quotas. */
export interface Storage extends ServerStorage {
  readonly quotas?: QuotaTable;
  /** Returns every order, ascending by id, from one snapshot. */
  records(): Iterable<readonly OrderRecord[]> | AsyncIterable<readonly OrderRecord[]>;
  /** Stores all records or none of them. Only a few batches are in memory at a time. */
  importRecords(batches: AsyncIterable<readonly ImportedRecord[]>, replace: boolean): Promise<ImportOutcome>;
}

export interface OpenedStorage<Opened extends ServerStorage> {
  readonly storage: Opened;
  /** Present if opening has created the storage. */
  readonly created?: CreatedStorage | undefined;
}

export interface CreatedStorage {
  /** Removes the closed storage, unless a server runs on it or anything is stored in it. */
  remove(): void;
}

export type OpenAttempt<Opened extends ServerStorage = Storage> =
  | ({ readonly ok: true } & OpenedStorage<Opened>)
  | { readonly ok: false; readonly message: string };
