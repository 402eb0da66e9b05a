import { LRUCache } from 'lru-cache';
import { prepare, type SqliteDatabase, type SqliteRow, transaction } from '../../databases/sqlite/database.js';
import { SqliteFileError } from '../../databases/sqlite/failure.js';
import type { Read } from '../../databases/sqlite/file.js';
import type { Principal } from '../../http/index.js';
import { createApiKey, isApiKey, keyDigest } from './api-key.js';
import { type KeyPlan, toPlan } from './key-plan.js';
import { type KeyChange, type KeyRecord, type KeyRing, newKey, REMEMBERED_KEYS, readKeyRecord } from './key-ring.js';
import { type KeyReads, prepareReads } from './sqlite-reads.js';

/** How long a change by another process may remain unnoticed. */
const CHANGES_SEEN_AFTER_MS = 250;

/**
 * Creates a key ring over an open database, which the caller closes. With `read`, keys of requests
 * are looked up on another thread, so that a slow disk does not block this thread. While the disk
 * hangs, no command can revoke a key, so cached keys stay valid.
 */
export function createKeyRing(database: SqliteDatabase, read?: Read<KeyReads>): KeyRing {
  const reads = prepareReads(database);
  const selectById = prepare(database, 'SELECT * FROM keys WHERE id = ?');
  const selectAll = prepare(database, 'SELECT * FROM keys ORDER BY created_at, rowid');
  const selectAny = prepare(database, 'SELECT 1 FROM keys LIMIT 1');
  const insert = prepare(database, 'INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, NULL)');
  const updatePlan = prepare(database, 'UPDATE keys SET plan = ?, per_minute = ?, per_day = ? WHERE id = ?');
  const updateDigest = prepare(database, 'UPDATE keys SET digest = ? WHERE id = ?');
  const updateRevoked = prepare(database, 'UPDATE keys SET revoked_at = ? WHERE id = ?');

  // Principals by the text of their key. A look-up here takes 0.05 µs. Without it, a request would
  // need 0.7 µs for the checksum and the digest of its key. Holds only issued keys, so that made-up
  // keys cannot evict them.
  const remembered = new LRUCache<string, Principal>({ max: REMEMBERED_KEYS });
  let version: bigint | undefined;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;

  function see(found: bigint): void {
    if (found !== version) remembered.clear();
    version = found;
    lookedMs = performance.now();
  }

  /** Empties the cache if the file has changed. Concurrent callers share one check. */
  function look(ask: Read<KeyReads>): Promise<void> {
    looking ??= ask('dataVersion')
      .then(see, (error: unknown) => {
        if (!(error instanceof SqliteFileError && error.kind === 'late')) throw error;
      })
      .finally(() => {
        looking = undefined;
      });
    return looking;
  }

  function remember(apiKey: string, row: SqliteRow | undefined): Principal | undefined {
    if (row === undefined) return undefined;
    const { id, plan } = readKeyRecord(row);
    const principal = { id, plan: toPlan(plan) };
    remembered.set(apiKey, principal);
    return principal;
  }

  function principalOf(apiKey: string): Principal | undefined | Promise<Principal | undefined> {
    const known = remembered.get(apiKey);
    if (known !== undefined || !isApiKey(apiKey)) return known;
    const digest = keyDigest(apiKey);
    if (read === undefined) return remember(apiKey, reads.keyByDigest(digest));
    return read('keyByDigest', digest).then((row) => remember(apiKey, row));
  }

  function find(id: string): KeyRecord | undefined {
    const row = selectById.get(id);
    return row && readKeyRecord(row);
  }

  function change(id: string, write: () => void): KeyChange {
    return transaction(database, () => {
      const record = find(id);
      if (record === undefined) return 'not_found';
      if (record.revokedAt !== undefined) return 'already_revoked';
      write();
      remembered.clear();
      return 'changed';
    });
  }

  return {
    authenticate(apiKey) {
      const isDue = performance.now() - lookedMs >= CHANGES_SEEN_AFTER_MS;
      if (isDue && read !== undefined) return look(read).then(() => principalOf(apiKey));
      if (isDue) see(reads.dataVersion());
      return principalOf(apiKey);
    },

    create(plan, name) {
      const issued = newKey(plan, name);
      const { id, key, createdAt } = issued;
      transaction(database, () => insert.run(id, keyDigest(key), name ?? null, ...valuesOf(plan), createdAt));
      return issued;
    },

    isEmpty: () => selectAny.get() === undefined,
    list: () => selectAll.all().map(readKeyRecord),
    get: find,
    setPlan: (id, plan) => change(id, () => updatePlan.run(...valuesOf(plan), id)),
    revoke: (id) => change(id, () => updateRevoked.run(new Date().toISOString(), id)),

    rotate(id) {
      const key = createApiKey();
      const outcome = change(id, () => updateDigest.run(keyDigest(key), id));
      if (outcome !== 'changed') return outcome;
      const record = find(id);
      return record === undefined ? 'not_found' : { ...record, key };
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
