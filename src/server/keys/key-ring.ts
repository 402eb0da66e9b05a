import { LRUCache } from 'lru-cache';
import type { Principal } from '../../http/index.js';
import { type Clock, createSystemClock } from '../../limits/clock.js';
import { createApiKey, isApiKey, keyDigest, randomBase62 } from './api-key.js';
import { type KeyPlan, toPlan } from './key-plan.js';
import type { KeyRecord } from './key-record.js';

/**
 * The API keys of the program. Tables store the digest of each key. The text of a key is not
 * stored. It is only in memory, while the key is in use.
 */
export interface KeyRing {
  /**
   * Returns the id and the plan of a key, or `undefined` if it is malformed, unknown or revoked.
   */
  authenticate(apiKey: string): Principal | undefined | Promise<Principal | undefined>;
  /** Returns whether the key was valid when it was last looked up. See `AdmissionOptions`. */
  isKnownKey(apiKey: string): boolean;
  /** Issues a key. The result contains the key's text, which is not stored. */
  create(plan: KeyPlan, name?: string): Promise<IssuedKey>;
  /** Returns `true` if no key was ever issued. */
  isEmpty(): boolean | Promise<boolean>;
  /** Returns all keys, including revoked ones, in the order of issue. */
  list(): readonly KeyRecord[] | Promise<readonly KeyRecord[]>;
  get(id: string): KeyRecord | undefined | Promise<KeyRecord | undefined>;
  setPlan(id: string, plan: KeyPlan): Promise<KeyChange>;
  revoke(id: string): Promise<KeyChange>;
  /**
   * Replaces the text of a key, and refuses the old text. The id, the plan and the used quotas
   * stay.
   */
  rotate(id: string): Promise<KeyRotation>;
}

/** Reads a database's table of keys. */
export interface KeyReads {
  /** Returns the key with this digest, unless it is revoked. */
  byDigest(digest: string): KeyRecord | undefined | Promise<KeyRecord | undefined>;
  isEmpty(): boolean | Promise<boolean>;
  list(): readonly KeyRecord[] | Promise<readonly KeyRecord[]>;
  get(id: string): KeyRecord | undefined | Promise<KeyRecord | undefined>;
}

/** Writes the table of keys. A change is on disk before it is reported as done. */
export interface KeyWrites {
  add(key: KeyRecord, digest: string): Promise<unknown>;
  /** Changes a key unless it is revoked. The other setters do the same. */
  setPlan(id: string, plan: KeyPlan): Promise<KeyChange>;
  setDigest(id: string, digest: string): Promise<KeyChange>;
  setRevoked(id: string, revokedAt: string): Promise<KeyChange>;
}

export interface KeyRingOptions {
  readonly clock?: Pick<Clock, 'nowMs'>;
  /**
   * Returns whether a failed look-up means that no process can change a key at the moment. Keys
   * that were valid then stay valid. Default: never.
   */
  isUnchangeable?(error: unknown): boolean;
}

type KeyRotation = IssuedKey | Exclude<KeyChange, 'changed'>;

export type KeyChange = 'changed' | 'already_revoked' | 'not_found';

export interface IssuedKey extends KeyRecord {
  /** The text of the key. Hand it to the client, and do not store it. */
  readonly key: string;
}

/** How many keys a process caches. */
const REMEMBERED_KEYS = 10_000;

/** A key in use is looked up again when the last look-up began this long ago. */
const TRUSTED_MS = 900;

interface LookUp {
  /** When the look-up began. */
  readonly askedMs: number;
  /** How many changes this key ring had made by then. */
  readonly changes: number;
}

/**
 * Creates a key ring over a table. Keys in use are authenticated from memory: a look-up there takes
 * 0.05 µs. Each of them is looked up again about once a second, so that a change by any process
 * takes effect within a second. If the look-up fails, the call rejects, so that no valid key is
 * reported as unknown.
 */
export function createKeyRing(
  reads: KeyReads,
  writes: KeyWrites,
  { clock: { nowMs } = createSystemClock(), isUnchangeable }: KeyRingOptions = {},
): KeyRing {
  // Holds only issued keys, so that made-up keys cannot evict them.
  const known = new LRUCache<string, LookUp & { readonly principal: Principal }>({ max: REMEMBERED_KEYS });
  const running = new Map<string, LookUp & { readonly found: Promise<Principal | undefined> }>();
  let changes = 0;

  const isRecent = (lookUp: LookUp) => lookUp.changes === changes && nowMs() - lookUp.askedMs < TRUSTED_MS;

  /** Looks up a key. Concurrent callers share one look-up. */
  function lookUp(apiKey: string): Promise<Principal | undefined> {
    const other = running.get(apiKey);
    if (other !== undefined && isRecent(other)) return other.found;
    const begun = { askedMs: nowMs(), changes };
    const found = find(apiKey, begun).finally(() => {
      if (running.get(apiKey)?.found === found) running.delete(apiKey);
    });
    running.set(apiKey, { ...begun, found });
    return found;
  }

  async function find(apiKey: string, begun: LookUp): Promise<Principal | undefined> {
    try {
      const record = await reads.byDigest(keyDigest(apiKey));
      const principal = record && { id: record.id, plan: toPlan(record.plan) };
      if (principal === undefined) known.delete(apiKey);
      else known.set(apiKey, { ...begun, principal });
      return principal;
    } catch (error) {
      if (isUnchangeable?.(error)) return known.get(apiKey)?.principal;
      throw error;
    }
  }

  async function change(changed: Promise<KeyChange>): Promise<KeyChange> {
    try {
      return await changed;
    } finally {
      // Even after a failure: the change may have been made although its reply was lost.
      changes++;
    }
  }

  return {
    authenticate(apiKey) {
      const key = known.get(apiKey);
      if (key !== undefined && isRecent(key)) return key.principal;
      return isApiKey(apiKey) ? lookUp(apiKey) : undefined;
    },

    isKnownKey: (apiKey) => known.has(apiKey),

    async create(plan, name) {
      const id = `key_${randomBase62(10)}`;
      const record = { id, ...(name !== undefined && { name }), plan, createdAt: new Date().toISOString() };
      const key = createApiKey();
      await writes.add(record, keyDigest(key));
      return { key, ...record };
    },

    isEmpty: () => reads.isEmpty(),
    list: () => reads.list(),
    get: (id) => reads.get(id),
    setPlan: (id, plan) => change(writes.setPlan(id, plan)),
    revoke: (id) => change(writes.setRevoked(id, new Date().toISOString())),

    async rotate(id) {
      const key = createApiKey();
      const outcome = await change(writes.setDigest(id, keyDigest(key)));
      if (outcome !== 'changed') return outcome;
      const record = await reads.get(id);
      return record === undefined ? 'not_found' : { ...record, key };
    },
  };
}
