import type { Principal } from '../../http/index.js';
import { createApiKey, randomBase62 } from './api-key.js';
import type { KeyPlan } from './key-plan.js';
import { parseKeyPlan } from './key-plan.js';

/**
 * The API keys of the program. Tables store the digest of each key. The text of a key is not
 * stored. It is only in memory, while the key is in use.
 */
export interface KeyRing {
  /**
   * Returns the id and the plan of a key, or `undefined` if it is malformed, unknown or revoked.
   */
  authenticate(apiKey: string): Principal | undefined | Promise<Principal | undefined>;
  /**
   * Returns whether the key was valid recently. A key ring has this function only if it looks up
   * all other keys over the network. See `AdmissionOptions`.
   */
  isKnownKey?(apiKey: string): boolean;
  /** Issues a key. The result contains the key's text, which is not stored. */
  create(plan: KeyPlan, name?: string): IssuedKey | Promise<IssuedKey>;
  /** Returns `true` if no key was ever issued. */
  isEmpty(): boolean | Promise<boolean>;
  /** Returns all keys, including revoked ones, in the order of issue. */
  list(): readonly KeyRecord[] | Promise<readonly KeyRecord[]>;
  get(id: string): KeyRecord | undefined | Promise<KeyRecord | undefined>;
  setPlan(id: string, plan: KeyPlan): KeyChange | Promise<KeyChange>;
  revoke(id: string): KeyChange | Promise<KeyChange>;
  /**
   * Replaces the text of a key, and refuses the old text. The id, the plan and the used quotas
   * stay.
   */
  rotate(id: string): KeyRotation | Promise<KeyRotation>;
}

export type KeyRotation = IssuedKey | Exclude<KeyChange, 'changed'>;

export type KeyChange = 'changed' | 'already_revoked' | 'not_found';

export interface KeyRecord {
  /** The public name of the key in logs, limiters and commands. */
  readonly id: string;
  readonly name?: string;
  readonly plan: KeyPlan;
  /** The time of issue, in the format of RFC 3339. */
  readonly createdAt: string;
  readonly revokedAt?: string;
}

export interface IssuedKey extends KeyRecord {
  /** The text of the key. Hand it to the client, and do not store it. */
  readonly key: string;
}

/** How many keys a process caches. */
export const REMEMBERED_KEYS = 10_000;

/** Creates a key without storing it. */
export function newKey(plan: KeyPlan, name?: string): IssuedKey {
  const id = `key_${randomBase62(10)}`;
  return { key: createApiKey(), id, ...(name !== undefined && { name }), plan, createdAt: new Date().toISOString() };
}

/** Converts a row of the table of keys. Throws if the stored plan is invalid. */
export function readKeyRecord(row: Readonly<Record<string, unknown>>): KeyRecord {
  const { id, name, created_at: createdAt, revoked_at: revokedAt } = row;
  const parsed = parseKeyPlan({
    name: String(row['plan']),
    perMinute: numberOf(row['per_minute']),
    perDay: numberOf(row['per_day']),
  });
  if (!parsed.ok) throw new Error(`the key ${id} is stored with an invalid plan: ${parsed.message}`);
  return {
    id: String(id),
    ...(typeof name === 'string' && { name }),
    plan: parsed.plan,
    createdAt: String(createdAt),
    ...(typeof revokedAt === 'string' && { revokedAt }),
  };
}

function numberOf(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}
