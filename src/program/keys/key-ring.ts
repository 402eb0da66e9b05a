import { LRUCache } from 'lru-cache';
import type { Principal } from '../../http/index.js';
import { type Clock, createSystemClock, type Plan } from '../../limits/index.js';
import { createApiKey, isApiKey, keyDigest, randomBase62 } from './api-key.js';
import { describePlan, type KeyPlan, toPlan } from './key-plan.js';
import type { KeyRecord } from './key-record.js';

/**
 * The API keys of the program. Only the digest of a key is stored. Its text is in memory while the
 * key is in use.
 */
export interface KeyRing extends Omit<KeyReads, 'byDigest'>, Pick<KeyWrites, 'setPlan'> {
  /** Looks up the id and plan of a key. `undefined` if the key is unknown, revoked or expired. */
  authenticate(apiKey: string): Promise<Principal | undefined> | undefined;
  /** Called first. The same for a key that was valid before, from memory for up to a second. */
  authenticateKnown(apiKey: string): Principal | undefined | Promise<Principal | undefined>;
  /** Issues a key. The result contains the key's text, which is not stored. */
  create(plan: KeyPlan, options?: Pick<KeyRecord, 'name' | 'expiresAt'>): Promise<IssuedKey>;
  revoke(id: string): Promise<KeyChange>;
  /** Replaces the text of a key and refuses the old text. The id, plan and used quotas stay. */
  rotate(id: string): Promise<IssuedKey | Exclude<KeyChange, 'changed'>>;
}

/** Reads a database's table of keys. */
export interface KeyReads {
  /** Returns the key with this digest, unless it is revoked. */
  byDigest(digest: string): KeyRecord | undefined | Promise<KeyRecord | undefined>;
  /** Returns `true` if no key was ever issued. */
  isEmpty(): boolean | Promise<boolean>;
  /** Returns all keys, including revoked ones, in the order of issue. */
  list(): readonly KeyRecord[] | Promise<readonly KeyRecord[]>;
  get(id: string): KeyRecord | undefined | Promise<KeyRecord | undefined>;
}

/** Writes the table of keys. A change is on disk before it is reported as done. */
export interface KeyWrites {
  add(key: KeyRecord, digest: string): Promise<unknown>;
  /** Sets the plan of a key. Like the other setters, changes nothing if the key is revoked. */
  setPlan(id: string, plan: KeyPlan): Promise<KeyChange>;
  setDigest(id: string, digest: string): Promise<KeyChange>;
  setRevoked(id: string, revokedAt: string): Promise<KeyChange>;
}

export interface KeyRingOptions {
  readonly clock?: Clock;
  /**
   * Returns whether a failed look-up means that no process can change a key at the moment. Keys
   * that were valid then stay valid. Default: never.
   */
  isUnchangeable?(error: unknown): boolean;
}

export type KeyChange = 'changed' | 'already_revoked' | 'not_found';

export interface IssuedKey extends KeyRecord {
  /** The text of the key. Hand it to the client, and do not store it. */
  readonly key: string;
}

interface KnownKey extends Principal {
  /** The Unix time from which the key is refused. */
  readonly expiresAtMs: number;
  /** When the last look-up that found the key began. */
  readonly lookedUpMs: number;
}

/** How many keys a process caches, and how many agreed plans. */
const REMEMBERED_KEYS = 10_000;
const REMEMBERED_PLANS = 1_000;

/** A key in use is looked up again when the last look-up began longer ago than this. */
const TRUSTED_MS = 900;

/**
 * Creates a key ring over a table. Keys in use are authenticated from memory. Each is
 * looked up again about once a second, so that a change takes effect within a second. If a look-up
 * fails, the call rejects, so that no valid key is reported as unknown.
 */
export function createKeyRing(
  reads: KeyReads,
  writes: KeyWrites,
  { clock: { nowMs, utcOffsetMs } = createSystemClock(), isUnchangeable }: KeyRingOptions = {},
): KeyRing {
  // This cache has only issued keys, so that guessed keys cannot evict them.
  const known = new LRUCache<string, KnownKey>({ max: REMEMBERED_KEYS });
  const lookUps = new Map<string, { readonly start: number; readonly result: Promise<Principal | undefined> }>();

  /** While the quotas of an agreed plan are the same, so is its object, by which limiters cache. */
  const plans = new LRUCache<string, Plan>({ max: REMEMBERED_PLANS });

  function toKnownKey({ id, plan: keyPlan, expiresAt }: KeyRecord, lookedUpMs: number): KnownKey {
    const quotas = describePlan(keyPlan);
    const plan = plans.get(quotas) ?? toPlan(keyPlan);
    plans.set(quotas, plan);
    return { id, plan, expiresAtMs: expiresAt === undefined ? Infinity : Date.parse(expiresAt), lookedUpMs };
  }

  const unlessExpired = (key: KnownKey | undefined) =>
    key !== undefined && nowMs() + utcOffsetMs() < key.expiresAtMs ? key : undefined;

  async function find(apiKey: string, start: number): Promise<Principal | undefined> {
    try {
      const record = await reads.byDigest(keyDigest(apiKey));
      const key = unlessExpired(record && toKnownKey(record, start));
      if (key === undefined) known.delete(apiKey);
      else known.set(apiKey, key);
      return key;
    } catch (error) {
      if (isUnchangeable?.(error)) return unlessExpired(known.peek(apiKey));
      throw error;
    }
  }

  /**
   * Looks up a key. Concurrent callers share one look-up, unless it is so slow that the key can have
   * been revoked since it began.
   */
  function lookUp(apiKey: string): Promise<Principal | undefined> {
    const start = nowMs();
    const other = lookUps.get(apiKey);
    if (other !== undefined && start - other.start < TRUSTED_MS) return other.result;
    const result = find(apiKey, start).finally(() => {
      // A slow look-up that ends does not remove a newer one, which further callers share.
      if (lookUps.get(apiKey)?.start === start) lookUps.delete(apiKey);
    });
    lookUps.set(apiKey, { start, result });
    return result;
  }

  return {
    authenticateKnown(apiKey) {
      const key = known.get(apiKey);
      return key === undefined || nowMs() - key.lookedUpMs <= TRUSTED_MS ? key : lookUp(apiKey);
    },

    authenticate: (apiKey) => (isApiKey(apiKey) ? lookUp(apiKey) : undefined),

    async create(plan, options) {
      const record = { id: `key_${randomBase62(10)}`, ...options, plan, createdAt: new Date().toISOString() };
      const key = createApiKey();
      await writes.add(record, keyDigest(key));
      return { key, ...record };
    },

    isEmpty: () => reads.isEmpty(),
    list: () => reads.list(),
    get: (id) => reads.get(id),
    setPlan: (id, plan) => writes.setPlan(id, plan),
    revoke: (id) => writes.setRevoked(id, new Date().toISOString()),

    async rotate(id) {
      const key = createApiKey();
      const outcome = await writes.setDigest(id, keyDigest(key));
      if (outcome !== 'changed') return outcome;
      const record = await reads.get(id);
      return record === undefined ? 'not_found' : { ...record, key };
    },
  };
}
