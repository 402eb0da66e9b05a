import { type KeyPlan, parseKeyPlan } from './key-plan.js';

export interface KeyRecord {
  /** Identifies the key in logs, limiters and commands. Unlike the key itself, it is not secret. */
  readonly id: string;
  readonly name?: string;
  readonly plan: KeyPlan;
  /** The time of issue, in the format of RFC 3339. */
  readonly createdAt: string;
  readonly revokedAt?: string;
  /** The time of expiry. The key is refused at most a second later. Absent if it never expires. */
  readonly expiresAt?: string;
}

/** Converts a row of the table of keys. Throws if the stored plan is invalid. */
export function readKeyRecord(row: Readonly<Record<string, unknown>>): KeyRecord {
  const { id, name, created_at: createdAt, revoked_at: revokedAt, expires_at: expiresAt } = row;
  const plan = parseKeyPlan({
    name: String(row['plan']),
    perMinute: parseQuota(row['per_minute']),
    perDay: parseQuota(row['per_day']),
  });
  if ('mistake' in plan) throw new Error(`the key ${id} is stored with an invalid plan: ${plan.mistake}`);
  return {
    id: String(id),
    ...(typeof name === 'string' && { name }),
    plan,
    createdAt: String(createdAt),
    ...(typeof revokedAt === 'string' && { revokedAt }),
    ...(typeof expiresAt === 'string' && { expiresAt }),
  };
}

function parseQuota(value: unknown): number | undefined {
  return value === null ? undefined : Number(value);
}
