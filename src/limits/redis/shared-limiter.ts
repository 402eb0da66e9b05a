import type { Decision } from '../limiter.js';
import type { Plan } from '../plan.js';
import { decisionOf } from '../rule.js';
import { holds } from '../token-bucket.js';
import type { Answer, RedisCalls } from './calls.js';
import type { Refusals } from './refusals.js';

/** A decision of the server, and the end of the key's ban by the server's clock, or 0. */
export interface Ruled {
  readonly decision: Decision;
  readonly banEndMs: number;
}

export type SharedLimiter = ReturnType<typeof createSharedLimiter>;

/**
 * Creates a limiter that asks the server for each decision, unless `refusals` can refuse the
 * request. The server never learns of such a refusal, so it does not count towards a ban. All
 * methods reject when the server fails.
 */
export function createSharedLimiter(calls: RedisCalls, refusals: Refusals) {
  function take(key: string, plan: Plan, cost: number): Promise<Ruled> {
    const sentMs = refusals.localMs();
    return calls.decide('take', key, plan, cost).then((answer) => {
      const ruled = ruledOf(key, plan, cost, answer);
      refusals.note(key, plan, answer, sentMs);
      return ruled;
    });
  }

  /**
   * Makes the next request of the key ask the server. The reply to a request that was sent before
   * the change may have arrived meanwhile, so the refusal is forgotten when the call is over.
   */
  async function change(key: string, call: Promise<void>): Promise<void> {
    try {
      await call;
    } finally {
      refusals.forget(key);
    }
  }

  return {
    take: (key: string, plan: Plan, cost: number): Decision | Promise<Ruled> =>
      refusals.refuse(key, plan, cost) ?? take(key, plan, cost),
    peek: async (key: string, plan: Plan, cost: number): Promise<Ruled> =>
      ruledOf(key, plan, cost, await calls.decide('peek', key, plan, cost)),
    inspect: calls.inspect,
    reset: (key: string): Promise<void> => change(key, calls.reset(key)),
    ban: (key: string, ms: number): Promise<void> => change(key, calls.ban(key, ms)),
    unban: (key: string): Promise<void> => change(key, calls.unban(key)),
    probe: calls.probe,
  };
}

/** Throws if the answer contradicts the plan. */
function ruledOf(key: string, plan: Plan, cost: number, answer: Answer): Ruled {
  const { passes, banEndMs, buckets } = answer;
  const windows = plan.policies.map((policy, index) => {
    const bucket = buckets[index] ?? { taken: Number.NaN, atMs: 0 };
    return { policy, bucket, refuses: !passes && !holds(bucket, policy, cost) };
  });
  const isPossible = passes
    ? banEndMs === 0 && windows.every(({ policy, bucket }) => holds(bucket, policy, 0))
    : banEndMs > 0 || windows.some(({ refuses }) => refuses);
  if (!isPossible) throw new Error("the script's reply contradicts the plan");
  return { decision: decisionOf({ key, plan, cost }, windows, passes, banEndMs, answer), banEndMs };
}
