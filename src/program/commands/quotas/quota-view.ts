import { toPlan } from '../../keys/key-plan.js';
import type { KeyRecord } from '../../keys/key-record.js';
import type { QuotaAdmin } from '../../quotas/admin.js';

export type ShownWindow = Awaited<ReturnType<typeof readQuota>>['windows'][number];

/** Returns the quotas of a key, as `--json` prints them. */
export async function readQuota(admin: QuotaAdmin, { id, plan }: KeyRecord) {
  const { windows, result, nowMs, retryAfterMs, utcOffsetMs } = await admin.peek(id, toPlan(plan), 0);
  return {
    id,
    plan: plan.name,
    windows: windows.map(({ policy, remaining, resetAtMs }) => ({
      name: policy.name,
      quota: policy.quota,
      remaining,
      resetAt: remaining === policy.quota ? null : isoTime(resetAtMs + utcOffsetMs),
    })),
    bannedUntil: result === 'banned' ? isoTime(nowMs + retryAfterMs + utcOffsetMs) : null,
  };
}

export function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
