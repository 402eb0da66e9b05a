import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';

/**
 * A change of a key's quota. A command writes the change into the database, because the running
 * server has the quotas in memory. The server reads the change there and applies it. The number
 * after `ban` is the end of the ban, in Unix milliseconds.
 */
export type QuotaRequest = 'reset' | 'lift_ban' | `ban ${number}`;

export interface PendingRequest {
  /** The number of the request. Numbers ascend and are never reused. */
  readonly seq: bigint;
  readonly keyId: string;
  readonly request: QuotaRequest;
}

export type QuotaReads = {
  pendingRequests(): readonly PendingRequest[];
};

/** The URL from which the reading thread imports this module. */
export const QUOTA_READS = import.meta.url;

/** Prepares the statements. The tables must exist. */
export function prepareReads(database: SqliteDatabase): QuotaReads {
  const select = prepare(database, 'SELECT seq, key_id, request FROM quota_requests ORDER BY seq');
  return {
    pendingRequests: () =>
      select.all().map((row) => ({
        seq: BigInt(row['seq'] ?? 0),
        keyId: String(row['key_id']),
        request: parseRequest(String(row['request'])),
      })),
  };
}

function parseRequest(text: string): QuotaRequest {
  const [, untilMs] = /^ban ([0-9]+)$/.exec(text) ?? [];
  return untilMs === undefined ? (text === 'reset' ? text : 'lift_ban') : `ban ${Number(untilMs)}`;
}
