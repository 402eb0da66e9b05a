import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.js';
import { type Decision, type NamedBucket, plainDecision } from '../limiter.js';
import type { MemoryLimiter } from '../memory/limiter.js';
import type { Plan } from '../plan.js';
import { isSame } from '../rule.js';
import { settle } from '../token-bucket.js';

/** What a key took from one window meanwhile, in the unit of `Bucket.taken`, and in how many ms that window ends. */
export type Amount = readonly [taken: number, endsInMs: number];

/** At a time: the first requests after an outage are not to wait for the whole of it. */
const CHARGED_AT_ONCE = 100;

/** Of so many keys it is remembered what they were charged; one more, and one of them may have its quota here again. */
const REMEMBERED_KEYS = 100_000;

/**
 * Limits in this process alone while the backend fails, and keeps account of what it will have to be charged. What was
 * granted here stays granted: the next outage in the same window gives nobody a fresh quota.
 */
export function createOutage(local: MemoryLimiter, clock: Clock, isOpen: boolean) {
  const uncharged = new Map<string, Plan>();
  /** What the backend has been charged of what was taken here. */
  const charged = new LRUCache<string, readonly NamedBucket[]>({
    max: REMEMBERED_KEYS,
    dispose: (_, key, reason) => {
      if (reason === 'evict') local.reset(key);
    },
  });

  /** As of now, a bucket for each window of the plan. */
  function settled(buckets: readonly NamedBucket[] = [], { policies }: Plan): readonly NamedBucket[] {
    const nowMs = clock.nowMs();
    const instant = { nowMs, utcOffsetMs: clock.utcOffsetMs() };
    return policies.map((policy) => {
      const { name, windowMs, refill } = policy;
      const bucket = buckets.find((other) => isSame(other, policy));
      return { name, windowMs, refill, ...settle(bucket, policy, instant) };
    });
  }

  function owed(key: string, plan: Plan): readonly NamedBucket[] {
    const paid = settled(charged.get(key), plan);
    return settled(local.inspect(key)?.buckets, plan).map((bucket, index) => {
      const { taken = 0, atMs } = paid[index] ?? {};
      return atMs === bucket.atMs ? { ...bucket, taken: Math.max(0, bucket.taken - taken) } : bucket;
    });
  }

  function paid(key: string, plan: Plan, amounts: readonly NamedBucket[]): void {
    const before = settled(charged.get(key), plan);
    const buckets = settled(amounts, plan).map((bucket, index) => {
      const { taken = 0, atMs } = before[index] ?? {};
      if (atMs === bucket.atMs) return { ...bucket, taken: bucket.taken + taken };
      return bucket.taken > 0 ? bucket : (before[index] ?? bucket);
    });
    charged.set(key, buckets);
  }

  return {
    take(key: string, plan: Plan, cost: number): Decision {
      const decision = local.take(key, plan, cost);
      if (decision.verdict === 'within_quota') uncharged.set(key, plan);
      return isOpen ? { ...plainDecision(decision), allowed: true } : decision;
    },

    peek(key: string, plan: Plan, cost: number): Decision {
      const decision = local.peek(key, plan, cost);
      return isOpen ? { ...plainDecision(decision), allowed: true } : decision;
    },

    isOwed: (key: string) => uncharged.has(key),

    /**
     * Charges one key: `send` asks the backend, `wait` gives up on what it has asked. Never rejects: what could not be
     * charged is still owed, unless it turns out, however late, that it was charged.
     */
    async charge(
      key: string,
      send: (plan: Plan, amounts: readonly Amount[]) => Promise<unknown>,
      wait: (asked: Promise<unknown>) => Promise<unknown>,
    ): Promise<void> {
      const plan = uncharged.get(key);
      if (plan === undefined) return;
      uncharged.delete(key);
      const nowMs = clock.nowMs();
      const amounts = owed(key, plan);
      if (amounts.every(({ taken }) => taken === 0)) return;
      const asked = send(
        plan,
        amounts.map(({ taken, atMs }) => [taken, Math.max(0, atMs - nowMs)]),
      ).then(() => paid(key, plan, amounts));
      try {
        await wait(asked);
      } catch {
        uncharged.set(key, plan);
      }
    },

    /** Charges all keys with `charge`, until none is owed or one could not be charged. */
    async chargeAll(charge: (key: string) => Promise<void>): Promise<void> {
      for (;;) {
        const keys = [...uncharged.keys()].slice(0, CHARGED_AT_ONCE);
        if (keys.length === 0) return;
        await Promise.all(keys.map(charge));
        if (keys.some((key) => uncharged.has(key))) return;
      }
    },

    forget(key: string): void {
      uncharged.delete(key);
      charged.delete(key);
      local.reset(key);
    },
  };
}
