import type { Clock } from '../clock.js';
import { type Decision, type KeyState, type NamedBucket, plainDecision } from '../limiter.js';
import type { MemoryLimiter } from '../memory/limiter.js';
import type { Plan, QuotaPolicy } from '../plan.js';
import { giveBack, isSame } from '../rule.js';
import { type Bucket, type Instant, settle, withTaken } from '../token-bucket.js';
import { type Amount, type Found, planArgument } from './codec.js';
import type { BackendLimiter } from './shared-limiter.js';

/**
 * Tokens of one plan that this process granted to a key while it could not reach Redis. They still
 * have to be charged to the key in Redis.
 */
interface Debt {
  readonly plan: Plan;
  state: KeyState;
  /**
   * The call that charges these tokens to the key in the server. Absent until the call is sent.
   * Never rejects. Tokens that are granted after the call was sent belong to another `Debt`.
   */
  sent?: Promise<void>;
  /**
   * Present once the server has charged the tokens. `to` is the state of the key in the server just
   * before the charge. `sentAtMs` is when the charge was sent, by this process's clock.
   */
  charged?: { readonly to: Found; readonly sentAtMs: number };
}

/**
 * The most charges in flight at a time. Without a limit, the first requests after an outage would
 * wait until the server has processed all charges.
 */
const CHARGED_AT_ONCE = 100;

/**
 * Records what this process decides without the server, and reports it to the server later. `wait`
 * rejects if a call to the server fails or takes too long. A later call then charges the tokens of
 * the failed call. If the reply to the failed call arrives before that, the server has charged the
 * tokens after all, so they are not charged again.
 */
export function createLedger(
  server: BackendLimiter,
  local: MemoryLimiter,
  clock: Clock,
  wait: (asked: Promise<unknown>) => Promise<unknown>,
) {
  const debts = new Map<string, readonly Debt[]>();
  const debtOf = new WeakMap<Decision, Debt>();
  /** Keys whose bans still have to be reported to the server. */
  const bans = new Set<string>();
  let beganMs = Number.NEGATIVE_INFINITY;

  function instant(): Instant {
    const nowMs = clock.nowMs();
    return { nowMs, utcOffsetMs: clock.utcOffsetMs(nowMs) };
  }

  function debtUnder(key: string, plan: Plan): Debt {
    const text = planArgument(plan);
    const known = debts.get(key) ?? [];
    const open = known.find((debt) => debt.sent === undefined && planArgument(debt.plan) === text);
    if (open !== undefined) return open;
    const debt: Debt = { plan, state: { buckets: [] } };
    debts.set(key, [...known, debt]);
    return debt;
  }

  function remove(key: string, debt: Debt): void {
    const left = (debts.get(key) ?? []).filter((other) => other !== debt);
    if (left.length > 0) debts.set(key, left);
    else debts.delete(key);
  }

  function admit(decision: Decision): void {
    const { key, plan, cost, windows } = decision;
    const debt = debtUnder(key, plan);
    debtOf.set(decision, debt);
    const now = instant();
    const buckets = windows.map(({ policy, resetAtMs }): NamedBucket => {
      const before = settle(find(debt.state, policy), policy, now);
      // `resetAtMs` is the end of the local limiter's window. `before.atMs` can be later, because
      // it assumes a window that began with the first token recorded here.
      const atMs = policy.refill === 'interval' ? resetAtMs : before.atMs;
      const taken = before.atMs === atMs ? before.taken : 0;
      const { name, windowMs, refill } = policy;
      return { name, windowMs, refill, ...withTaken({ taken, atMs }, policy, cost) };
    });
    debt.state = { buckets };
  }

  async function send(key: string, debt: Debt): Promise<void> {
    const now = instant();
    const amounts = debt.plan.policies.map((policy): Amount => {
      const { taken, atMs } = settle(find(debt.state, policy), policy, now);
      return [taken, Math.max(0, atMs - now.nowMs)];
    });
    remove(key, debt);
    if (amounts.every(([taken]) => taken === 0)) return;
    const asked = server.charge(key, debt.plan, amounts).then((to) => {
      debt.charged = { to, sentAtMs: now.nowMs };
      remove(key, debt);
    });
    try {
      await wait(asked);
    } catch {
      debts.set(key, [...(debts.get(key) ?? []), debt]);
    }
  }

  async function sendBan(key: string): Promise<void> {
    bans.delete(key);
    const nowMs = clock.nowMs();
    const ban = local.inspect(key)?.ban;
    if (ban === undefined || ban.banEndMs <= nowMs) return;
    try {
      await wait(server.carryBan(key, ban, nowMs));
    } catch {
      bans.add(key);
    }
  }

  const owes = (key: string) => debts.has(key) || bans.has(key);

  async function settleKey(key: string): Promise<void> {
    const sent = (debts.get(key) ?? []).map((debt) => {
      debt.sent = send(key, debt);
      return debt.sent;
    });
    if (bans.has(key)) sent.push(sendBan(key));
    await Promise.all(sent);
  }

  return {
    /** Remembers that this process decides alone from now on. */
    begin(): void {
      beganMs = clock.nowMs();
    },

    /** Records a decision of the local limiter. */
    note(decision: Decision): void {
      const { key, cost, verdict } = decision;
      if (verdict === 'within_quota' && cost > 0) admit(decision);
      if (verdict !== 'banned') return;
      const ban = local.inspect(key)?.ban;
      // If a ban began before the outage, the server knows of it, so it need not be reported.
      if (ban !== undefined && ban.banEndMs - ban.banMs >= beganMs) bans.add(key);
    },

    /** Records a ban that the server does not know of. */
    noteBan: (key: string) => bans.add(key),

    owes,

    /**
     * Reports to the server how many tokens this process granted to the key, and the key's ban, if
     * any. Never rejects.
     */
    settle: settleKey,

    /**
     * Reports the granted tokens and the bans of all keys to the server. Stops when a call fails.
     */
    async settleAll(): Promise<void> {
      const keys = [...new Set([...debts.keys(), ...bans])];
      for (let from = 0; from < keys.length; from += CHARGED_AT_ONCE) {
        const some = keys.slice(from, from + CHARGED_AT_ONCE);
        await Promise.all(some.map(settleKey));
        if (some.some(owes)) return;
      }
    },

    /**
     * Puts back the tokens that this process took for a decision. If the server has charged tokens
     * for this decision, resolves to the decision that the caller must pass to the server's
     * `refund`. Otherwise resolves to `undefined`.
     */
    async refund(decision: Decision): Promise<Decision | undefined> {
      const debt = debtOf.get(decision);
      if (debt === undefined) return decision;
      debtOf.delete(decision);
      local.refund(decision);
      if (debt.sent !== undefined) await debt.sent;
      if (debt.charged !== undefined) return asCharged(decision, debt.state, debt.charged);
      debt.state = giveBack(debt.state, decision, clock.nowMs()) ?? { buckets: [] };
      return undefined;
    },

    forgetBan: (key: string) => bans.delete(key),

    forget(key: string): void {
      debts.delete(key);
      bans.delete(key);
    },
  };
}

function find(state: KeyState, policy: QuotaPolicy): Bucket | undefined {
  return state.buckets.find((bucket) => isSame(bucket, policy));
}

/**
 * Returns a copy of the decision, to be passed to the server's `refund`. In the copy, `resetAtMs`
 * of each window is converted to the server's clock. It is 0 for a window in which the server
 * charged no tokens.
 */
function asCharged(decision: Decision, owed: KeyState, { to, sentAtMs }: NonNullable<Debt['charged']>): Decision {
  const aheadMs = to.nowMs - sentAtMs;
  const windows = decision.windows.map((window) => {
    const { policy, resetAtMs } = window;
    if (policy.refill === 'continuous') return { ...window, resetAtMs: resetAtMs + aheadMs };
    // This window had ended when the charge was sent, so the server charged no tokens in it.
    if (resetAtMs <= sentAtMs || find(owed, policy)?.atMs !== resetAtMs) return { ...window, resetAtMs: 0 };
    const found = settle(find(to.state, policy), policy, to);
    return { ...window, resetAtMs: found.taken > 0 ? found.atMs : Math.min(found.atMs, resetAtMs + aheadMs) };
  });
  return { ...plainDecision(decision), windows };
}
