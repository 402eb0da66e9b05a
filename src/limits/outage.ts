import type { Clock } from './clock.js';
import { type Decision, plainDecision } from './limiter.js';
import type { MemoryLimiter } from './memory.js';
import type { Plan } from './plan.js';
import { isSame } from './rule.js';
import { settle } from './token-bucket.js';

/** What a key took from one window meanwhile, in the unit of `Bucket.taken`, and in how many ms that window ends. */
export type Amount = readonly [taken: number, endsInMs: number];

/** At a time: the first requests after an outage are not to wait for the whole of it. */
const CHARGED_AT_ONCE = 100;

/** Limits in this process alone while the backend fails, and keeps account of what it will have to be charged. */
export function createOutage(local: MemoryLimiter, clock: Clock, isOpen: boolean) {
  const uncharged = new Map<string, Plan>();

  function amounts(key: string, plan: Plan): Amount[] {
    const nowMs = clock.nowMs();
    const instant = { nowMs, utcOffsetMs: clock.utcOffsetMs() };
    const buckets = local.inspect(key)?.buckets ?? [];
    return plan.policies.map((policy) => {
      const bucket = buckets.find((other) => isSame(other, policy));
      const { taken, atMs } = settle(bucket, policy, instant);
      return [taken, Math.max(0, atMs - nowMs)];
    });
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

    /** Charges one key. Never rejects: what could not be charged is still owed. */
    async charge(key: string, send: (plan: Plan, owed: readonly Amount[]) => Promise<unknown>): Promise<void> {
      const plan = uncharged.get(key);
      if (plan === undefined) return;
      uncharged.delete(key);
      try {
        await send(plan, amounts(key, plan));
        local.reset(key);
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
      local.reset(key);
    },
  };
}
