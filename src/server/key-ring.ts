import { LRUCache } from 'lru-cache';
import type { Principal } from '../http/index.js';
import type { SqliteDatabase } from '../orders/sqlite.js';
import { prepare, type SqliteRow, transaction } from '../sqlite/database.js';
import { createApiKey, digestOf, isApiKey, randomBase62 } from './api-key.js';
import { createDataVersion } from './data-version.js';
import { type KeyPlan, parseKeyPlan, toPlan } from './key-plan.js';

/** The API keys of the program. The text of a key is in no table, only its digest is; in memory those in use are. */
export interface KeyRing {
  /** Whose key it is, `undefined` for one that is malformed, unknown or revoked. */
  authenticate(apiKey: string): Principal | undefined;
  /** Issues a key. The answer is the only place where its text ever is. */
  create(plan: KeyPlan, name?: string): IssuedKey;
  /** All keys, revoked ones too, in the order of issue. */
  list(): readonly KeyRecord[];
  get(id: string): KeyRecord | undefined;
  setPlan(id: string, plan: KeyPlan): 'set' | 'already_revoked' | 'not_found';
  revoke(id: string): 'revoked' | 'already_revoked' | 'not_found';
}

export interface KeyRecord {
  /** Public: it is what logs, limiters and commands call the key. */
  readonly id: string;
  readonly name?: string;
  readonly plan: KeyPlan;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly revokedAt?: string;
}

export interface IssuedKey extends KeyRecord {
  /** The API key, to be handed on and not kept. */
  readonly key: string;
}

/** A change by another process is seen after this at the latest. */
const CHANGES_SEEN_AFTER_MS = 250;
const REMEMBERED_KEYS = 10_000;

/** The key ring in the program's tables of an open database, which stays the caller's to close. */
export function createKeyRing(database: SqliteDatabase): KeyRing {
  const selectByDigest = prepare(database, 'SELECT * FROM keys WHERE digest = ? AND revoked_at IS NULL');
  const selectById = prepare(database, 'SELECT * FROM keys WHERE id = ?');
  const selectAll = prepare(database, 'SELECT * FROM keys ORDER BY created_at, rowid');
  const insert = prepare(database, 'INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, NULL)');
  const updatePlan = prepare(database, 'UPDATE keys SET plan = ?, per_minute = ?, per_day = ? WHERE id = ?');
  const updateRevoked = prepare(database, 'UPDATE keys SET revoked_at = ? WHERE id = ?');

  // By the key's text: checksum and digest would cost each request 0.7 µs instead of 0.05. Issued keys only: what
  // strangers send must not push them out.
  const remembered = new LRUCache<string, Principal>({ max: REMEMBERED_KEYS });
  const dataVersion = createDataVersion(database, CHANGES_SEEN_AFTER_MS);
  let rememberedVersion = dataVersion();

  function find(id: string): KeyRecord | undefined {
    const row = selectById.get(id);
    return row && recordOf(row);
  }

  function change<T extends string>(id: string, done: T, write: () => void): T | 'already_revoked' | 'not_found' {
    return transaction(database, () => {
      const record = find(id);
      if (record === undefined) return 'not_found';
      if (record.revokedAt !== undefined) return 'already_revoked';
      write();
      remembered.clear();
      return done;
    });
  }

  return {
    authenticate(apiKey) {
      const version = dataVersion();
      if (version !== rememberedVersion) {
        remembered.clear();
        rememberedVersion = version;
      }
      const known = remembered.get(apiKey);
      if (known !== undefined) return known;
      if (!isApiKey(apiKey)) return undefined;
      const row = selectByDigest.get(digestOf(apiKey));
      if (row === undefined) return undefined;
      const { id, plan } = recordOf(row);
      const principal = { id, plan: toPlan(plan) };
      remembered.set(apiKey, principal);
      return principal;
    },

    create(plan, name) {
      const key = createApiKey();
      const id = `key_${randomBase62(10)}`;
      const createdAt = new Date().toISOString();
      insert.run(id, digestOf(key), name ?? null, ...valuesOf(plan), createdAt);
      return { key, id, ...(name !== undefined && { name }), plan, createdAt };
    },

    list: () => selectAll.all().map(recordOf),
    get: find,
    setPlan: (id, plan) => change(id, 'set', () => updatePlan.run(...valuesOf(plan), id)),
    revoke: (id) => change(id, 'revoked', () => updateRevoked.run(new Date().toISOString(), id)),
  };
}

function valuesOf({ name, perMinute, perDay }: KeyPlan) {
  return [
    name,
    perMinute === undefined ? null : BigInt(perMinute),
    perDay === undefined ? null : BigInt(perDay),
  ] as const;
}

function recordOf(row: SqliteRow): KeyRecord {
  const { id, name, created_at: createdAt, revoked_at: revokedAt } = row;
  const parsed = parseKeyPlan({
    name: String(row['plan']),
    perMinute: numberOf(row['per_minute']),
    perDay: numberOf(row['per_day']),
  });
  if (!parsed.ok) throw new Error(`the key ${id} is stored with a wrong plan: ${parsed.message}`);
  return {
    id: String(id),
    ...(typeof name === 'string' && { name }),
    plan: parsed.plan,
    createdAt: String(createdAt),
    ...(typeof revokedAt === 'string' && { revokedAt }),
  };
}

function numberOf(value: SqliteRow[string] | undefined): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}
