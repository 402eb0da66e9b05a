import * as v from 'valibot';
import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import type { WriteQueue } from '../../databases/sqlite/group-commit.js';
import type { KeyState } from '../../limits/index.js';

/**
 * A change of a key's quota. A command writes the change into the database, because the running
 * server has the quotas in memory. The process that loads the quotas reads the change there and applies it.
 * The number after `ban` is the end of the ban, in Unix milliseconds.
 */
type QuotaRequest = 'reset' | 'lift_ban' | `ban ${number}`;

export interface PendingRequest {
  /** The number of the request. Numbers ascend and are never reused. */
  readonly seq: bigint;
  readonly keyId: string;
  readonly request: QuotaRequest;
}

/** The saved state of a key's quotas, or `undefined` if its quotas are full. All times are Unix times. */
type SavedState = readonly [keyId: string, state: KeyState | undefined];

type LoadedStates = readonly (readonly [keyId: string, state: KeyState])[];

/** The saved quotas, as the server loads and saves them. */
export interface SavedQuotas {
  /** Returns the states of all keys, or only of `keyId`. */
  load(keyId?: string): LoadedStates | Promise<LoadedStates>;
  /** Returns the changes that commands have requested from the server. */
  pending(): readonly PendingRequest[] | Promise<readonly PendingRequest[]>;
  /** Saves states, and removes the requested changes up to number `upToSeq`, in one transaction. */
  save(states: readonly SavedState[], upToSeq: bigint): Promise<void>;
}

/** The saved quotas in a database on this thread, as commands use them. */
export interface QuotaTable extends SavedQuotas {
  load(keyId?: string): LoadedStates;
  pending(): readonly PendingRequest[];
  /** Requests a change. The server that loads the quotas, or has loaded them, applies it. */
  request(keyId: string, request: QuotaRequest): Promise<void>;
}

const integerSchema = v.pipe(v.number(), v.safeInteger());
const stateSchema = v.object({
  buckets: v.array(
    v.object({
      name: v.string(),
      windowMs: integerSchema,
      refill: v.picklist(['interval', 'continuous']),
      taken: integerSchema,
      atMs: integerSchema,
    }),
  ),
  ban: v.optional(
    v.object({
      refusedAtMs: integerSchema,
      forgiven: integerSchema,
      strikesAtMs: v.array(integerSchema),
      banEndMs: integerSchema,
      banMs: integerSchema,
      level: integerSchema,
      forgetAtMs: integerSchema,
    }),
  ),
});

/** Creates a {@link QuotaTable} on a database that already has the tables. */
export function createQuotaTable(database: SqliteDatabase, { write }: WriteQueue): QuotaTable {
  const selectAll = prepare(database, 'SELECT key_id, state FROM quotas');
  const selectOne = prepare(database, 'SELECT key_id, state FROM quotas WHERE key_id = ?');
  const selectRequests = prepare(database, 'SELECT seq, key_id, request FROM quota_requests ORDER BY seq');
  const upsert = prepare(database, 'INSERT OR REPLACE INTO quotas VALUES (?, ?)');
  const remove = prepare(database, 'DELETE FROM quotas WHERE key_id = ?');
  const insertRequest = prepare(database, 'INSERT INTO quota_requests (key_id, request) VALUES (?, ?)');
  const removeRequests = prepare(database, 'DELETE FROM quota_requests WHERE seq <= ?');

  return {
    load(keyId) {
      const rows = keyId === undefined ? selectAll.all() : selectOne.all(keyId);
      return rows.map((row) => [String(row['key_id']), parseState(String(row['state']))]);
    },

    pending: () =>
      selectRequests.all().map((row) => ({
        seq: BigInt(row['seq'] ?? 0),
        keyId: String(row['key_id']),
        request: parseRequest(String(row['request'])),
      })),

    save: (states, upToSeq) =>
      write(() => {
        for (const [keyId, state] of states) {
          if (state === undefined) remove.run(keyId);
          else upsert.run(keyId, JSON.stringify(state));
        }
        removeRequests.run(upToSeq);
      }),

    request: (keyId, request) => write(() => void insertRequest.run(keyId, request)),
  };
}

function parseState(text: string): KeyState {
  const { buckets, ban } = v.parse(stateSchema, JSON.parse(text));
  return { buckets, ...(ban !== undefined && { ban }) };
}

function parseRequest(text: string): QuotaRequest {
  const [, untilMs] = /^ban ([0-9]+)$/.exec(text) ?? [];
  return untilMs === undefined ? (text === 'reset' ? text : 'lift_ban') : `ban ${Number(untilMs)}`;
}
