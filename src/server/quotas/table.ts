import * as v from 'valibot';
import { prepare, type SqliteDatabase, transaction } from '../../databases/sqlite/database.js';
import type { Read } from '../../databases/sqlite/file.js';
import type { Write } from '../../databases/sqlite/write-queue.js';
import type { KeyState } from '../../limits/index.js';
import { type PendingRequest, prepareReads, type QuotaReads, type QuotaRequest } from './reads.js';
import { prepareWrites, type QuotaWrites } from './writes.js';

/**
 * The saved quotas, by key id. All times in them are Unix times. The table also holds the changes
 * that commands request from a running server: the server has the quotas in memory, so it must
 * apply the changes itself.
 */
export interface QuotaTable {
  /** Loads all saved quotas and all requested changes, before the server starts to listen. */
  load(): {
    readonly states: readonly (readonly [keyId: string, state: KeyState])[];
    readonly requests: readonly PendingRequest[];
  };
  get(keyId: string): KeyState | undefined;
  /** Changes the saved quota, and requests the same change from a running server. */
  request(keyId: string, request: 'reset' | 'lift_ban'): void;
  /**
   * Bans a key until the Unix time `untilMs`: changes the saved quota, and requests the same ban
   * from a running server. `banned` returns the given state with the ban added.
   */
  requestBan(keyId: string, untilMs: number, banned: (state: KeyState | undefined) => KeyState | undefined): void;
  pending(): readonly PendingRequest[] | Promise<readonly PendingRequest[]>;
  /** Saves states, and removes the requested changes up to number `upToSeq`, in one transaction. */
  save(states: readonly (readonly [keyId: string, state: KeyState | undefined])[], upToSeq: bigint): Promise<void>;
}

const instant = v.pipe(v.number(), v.safeInteger());
const stateSchema = v.object({
  buckets: v.array(
    v.object({
      name: v.string(),
      windowMs: instant,
      refill: v.picklist(['interval', 'continuous']),
      taken: instant,
      atMs: instant,
    }),
  ),
  ban: v.optional(
    v.object({
      refusedAtMs: instant,
      forgiven: instant,
      strikesAtMs: v.array(instant),
      banEndMs: instant,
      banMs: instant,
      level: instant,
      forgetAtMs: instant,
    }),
  ),
});

/**
 * Creates a {@link QuotaTable} on an open database. With `read`, `pending` reads on another thread.
 */
export function createQuotaTable(
  database: SqliteDatabase,
  write: Write<QuotaWrites>,
  read?: Read<QuotaReads>,
): QuotaTable {
  const selectAll = prepare(database, 'SELECT key_id, state FROM quotas');
  const selectOne = prepare(database, 'SELECT state FROM quotas WHERE key_id = ?');
  const insertRequest = prepare(database, 'INSERT INTO quota_requests (key_id, request) VALUES (?, ?)');
  const { pendingRequests } = prepareReads(database);
  const { saveQuotas } = prepareWrites(database);

  function change(
    keyId: string,
    request: QuotaRequest,
    changed: (state: KeyState | undefined) => KeyState | undefined,
  ): void {
    transaction(database, () => {
      saveQuotas([[keyId, stateJson(changed(table.get(keyId)))]], 0n);
      insertRequest.run(keyId, request);
    });
  }

  const table: QuotaTable = {
    load: () => ({
      states: selectAll.all().map((row) => [String(row['key_id']), parseState(String(row['state']))]),
      requests: pendingRequests(),
    }),

    get(keyId) {
      const state = selectOne.get(keyId)?.['state'];
      return state === undefined ? undefined : parseState(String(state));
    },

    request: (keyId, request) =>
      change(keyId, request, (state) =>
        request === 'reset' || state === undefined ? undefined : { buckets: state.buckets },
      ),
    requestBan: (keyId, untilMs, banned) => change(keyId, `ban ${untilMs}`, banned),

    pending: () => (read === undefined ? pendingRequests() : read('pendingRequests')),

    save: (states, upToSeq) =>
      write(
        'saveQuotas',
        states.map(([keyId, state]) => [keyId, stateJson(state)] as const),
        upToSeq,
      ),
  };
  return table;
}

function stateJson(state: KeyState | undefined): string | null {
  return state === undefined ? null : JSON.stringify(state);
}

function parseState(text: string): KeyState {
  const { buckets, ban } = v.parse(stateSchema, JSON.parse(text));
  return { buckets, ...(ban !== undefined && { ban }) };
}
