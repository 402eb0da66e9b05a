import { LRUCache } from 'lru-cache';
import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { isLate } from '../../databases/sqlite/failure.js';
import type { WriteQueue } from '../../databases/sqlite/group-commit.js';
import type { Principal } from '../../http/index.js';
import { createApiKey, isApiKey, keyDigest } from './api-key.js';
import { type KeyPlan, toPlan } from './key-plan.js';
import {
  type IssuedKey,
  type KeyChange,
  type KeyRecord,
  type KeyRing,
  type KeyRotation,
  newKey,
  REMEMBERED_KEYS,
  readKeyRecord,
} from './key-ring.js';

/** The keys in the tables of a database. A worker can host it. */
export interface KeyTable {
  /** Returns the key with this digest, unless it is revoked. */
  byDigest(digest: string): KeyRecord | undefined;
  isEmpty(): boolean;
  list(): readonly KeyRecord[];
  get(id: string): KeyRecord | undefined;
  create(plan: KeyPlan, name?: string): Promise<IssuedKey>;
  setPlan(id: string, plan: KeyPlan): Promise<KeyChange>;
  revoke(id: string): Promise<KeyChange>;
  rotate(id: string): Promise<KeyRotation>;
}

/** Creates a {@link KeyTable} on a database that already has the tables. */
export function createKeyTable(database: SqliteDatabase, { write }: WriteQueue): KeyTable {
  const selectByDigest = prepare(database, 'SELECT * FROM keys WHERE digest = ? AND revoked_at IS NULL');
  const selectById = prepare(database, 'SELECT * FROM keys WHERE id = ?');
  const selectAll = prepare(database, 'SELECT * FROM keys ORDER BY created_at, rowid');
  const selectAny = prepare(database, 'SELECT 1 FROM keys LIMIT 1');
  const insert = prepare(database, 'INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, NULL)');
  const updatePlan = prepare(database, 'UPDATE keys SET plan = ?, per_minute = ?, per_day = ? WHERE id = ?');
  const updateDigest = prepare(database, 'UPDATE keys SET digest = ? WHERE id = ?');
  const updateRevoked = prepare(database, 'UPDATE keys SET revoked_at = ? WHERE id = ?');

  function get(id: string): KeyRecord | undefined {
    const row = selectById.get(id);
    return row && readKeyRecord(row);
  }

  /** Changes the key if it exists and is not revoked. Resolves to the key as it was before. */
  function change(id: string, update: () => void): Promise<KeyRecord | Exclude<KeyChange, 'changed'>> {
    return write(() => {
      const record = get(id);
      if (record === undefined) return 'not_found';
      if (record.revokedAt !== undefined) return 'already_revoked';
      update();
      return record;
    });
  }

  const changed = (found: KeyRecord | KeyChange) => (typeof found === 'string' ? found : 'changed');

  return {
    byDigest(digest) {
      const row = selectByDigest.get(digest);
      return row && readKeyRecord(row);
    },

    isEmpty: () => selectAny.get() === undefined,
    list: () => selectAll.all().map(readKeyRecord),
    get,

    async create(plan, name) {
      const issued = newKey(plan, name);
      const { id, key, createdAt } = issued;
      await write(() => insert.run(id, keyDigest(key), name ?? null, ...valuesOf(plan), createdAt));
      return issued;
    },

    setPlan: (id, plan) => change(id, () => updatePlan.run(...valuesOf(plan), id)).then(changed),
    revoke: (id) => change(id, () => updateRevoked.run(new Date().toISOString(), id)).then(changed),

    async rotate(id) {
      const key = createApiKey();
      const found = await change(id, () => updateDigest.run(keyDigest(key), id));
      return typeof found === 'string' ? found : { ...found, key };
    },
  };
}

function valuesOf({ name, perMinute, perDay }: KeyPlan) {
  return [
    name,
    perMinute === undefined ? null : BigInt(perMinute),
    perDay === undefined ? null : BigInt(perDay),
  ] as const;
}

/** How long a change by another process may remain unnoticed. */
const CHANGES_SEEN_AFTER_MS = 500;

export type KeyReads = Pick<KeyRing, 'isEmpty' | 'list' | 'get'> & {
  byDigest(digest: string): KeyRecord | undefined | Promise<KeyRecord | undefined>;
};
export type KeyWrites = Pick<KeyRing, 'create' | 'setPlan' | 'revoke' | 'rotate'>;

/**
 * Creates a key ring over a {@link KeyTable}, or over one for reads and one for writes, in workers.
 * Caches only keys that exist, so that invented keys cannot evict them. While the disk hangs, no
 * command can revoke a key, so cached keys stay valid.
 */
export function createKeyRing(reads: KeyReads, writes: KeyWrites): KeyRing {
  const principals = new LRUCache<string, Principal>({
    max: REMEMBERED_KEYS,
    ttl: CHANGES_SEEN_AFTER_MS,
    noDeleteOnStaleGet: true,
    ignoreFetchAbort: true,
    fetchMethod: (apiKey, stale) => lookUp(apiKey, stale),
  });

  async function lookUp(apiKey: string, stale: Principal | undefined): Promise<Principal | undefined> {
    try {
      const found = await reads.byDigest(keyDigest(apiKey));
      return found && { id: found.id, plan: toPlan(found.plan) };
    } catch (error) {
      if (stale !== undefined && isLate(error)) return stale;
      throw error;
    }
  }

  async function changing<T>(change: T | Promise<T>): Promise<T> {
    try {
      return await change;
    } finally {
      principals.clear();
    }
  }

  return {
    authenticate(apiKey) {
      const known = principals.get(apiKey);
      return known !== undefined || !isApiKey(apiKey) ? known : principals.fetch(apiKey);
    },

    isEmpty: () => reads.isEmpty(),
    list: () => reads.list(),
    get: (id) => reads.get(id),
    create: (plan, name) => writes.create(plan, name),
    setPlan: (id, plan) => changing(writes.setPlan(id, plan)),
    revoke: (id) => changing(writes.revoke(id)),
    rotate: (id) => changing(writes.rotate(id)),
  };
}
