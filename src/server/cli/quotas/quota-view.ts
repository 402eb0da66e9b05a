import { toPlan } from '../../keys/key-plan.js';
import type { KeyRecord } from '../../keys/key-record.js';
import type { QuotaAdmin } from '../../quotas/admin.js';

/** The quotas of a key, as `--json` prints them. */
export interface ShownQuota {
  readonly id: string;
  readonly plan: string;
  readonly windows: readonly ShownWindow[];
  readonly bannedUntil: string | null;
}

export interface ShownWindow {
  readonly name: string;
  readonly quota: number;
  readonly remaining: number;
  readonly resetAt: string | null;
}

export async function readQuota(admin: QuotaAdmin, { id, plan }: KeyRecord): Promise<ShownQuota> {
  const { windows, verdict, nowMs, retryAfterMs, utcOffsetMs } = await admin.peek(id, toPlan(plan), 0);
  return {
    id,
    plan: plan.name,
    windows: windows.map(({ policy, remaining, resetAtMs }) => ({
      name: policy.name,
      quota: policy.quota,
      remaining,
      resetAt: remaining === policy.quota ? null : isoTime(resetAtMs + utcOffsetMs),
    })),
    bannedUntil: verdict === 'banned' ? isoTime(nowMs + retryAfterMs + utcOffsetMs) : null,
  };
}

export function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
