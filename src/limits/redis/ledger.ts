import type { Clock } from '../clock.js';
import { type Decision, type KeyState, type NamedBucket, plainDecision } from '../limiter.js';
import type { MemoryLimiter } from '../memory/limiter.js';
import type { Plan, QuotaPolicy } from '../plan.js';
import { giveBack, isSame } from '../rule.js';
import { type Bucket, type Instant, settle, withTaken } from '../token-bucket.js';
import { type Amount, type Found, planArgument } from './codec.js';
import type { BackendLimiter } from './shared-limiter.js';

/** What one plan has admitted to a key here, to be charged to the server. */
interface Debt {
  readonly plan: Plan;
  state: KeyState;
  /** Settles, and never rejects, when it was sent. What is admitted from then on is another debt. */
  sent?: Promise<void>;
  /** What the server added it to, and the local time when it was sent. */
  charged?: { readonly to: Found; readonly sentAtMs: number };
}

/** At a time: the first requests after an outage are not to wait for the whole of it. */
const CHARGED_AT_ONCE = 100;

/**
 * Keeps account of what this process has decided alone and the server has to be told. `wait` gives up
 * on what was asked of the server, and rejects then: it is still owed, unless an answer comes late.
 */
export function createLedger(
  server: BackendLimiter,
  local: MemoryLimiter,
  clock: Clock,
  wait: (asked: Promise<unknown>) => Promise<unknown>,
) {
  const debts = new Map<string, readonly Debt[]>();
  const debtOf = new WeakMap<Decision, Debt>();
  /** Keys whose ban the server has to be told. */
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
      // The window is that of the local limiter, which may have begun before the debt did.
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
    /** From now on this process decides alone. */
    begin(): void {
      beganMs = clock.nowMs();
    },

    /** Takes note of a decision of the local limiter. */
    note(decision: Decision): void {
      const { key, cost, verdict } = decision;
      if (verdict === 'within_quota' && cost > 0) admit(decision);
      if (verdict !== 'banned') return;
      const ban = local.inspect(key)?.ban;
      // Of an earlier one the server has told.
      if (ban !== undefined && ban.banEndMs - ban.banMs >= beganMs) bans.add(key);
    },

    /** Takes note of a ban that the server was not told. */
    noteBan: (key: string) => bans.add(key),

    owes,

    /** Tells the server what is owed for this key. Never rejects. */
    settle: settleKey,

    /** Tells the server all that is owed, until something fails. */
    async settleAll(): Promise<void> {
      const keys = [...new Set([...debts.keys(), ...bans])];
      for (let from = 0; from < keys.length; from += CHARGED_AT_ONCE) {
        const some = keys.slice(from, from + CHARGED_AT_ONCE);
        await Promise.all(some.map(settleKey));
        if (some.some(owes)) return;
      }
    },

    /** Puts back what a decision took here. Resolves to the decision that the server has to refund, if any. */
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

/** The decision with the windows that the server has charged for it. */
function asCharged(decision: Decision, owed: KeyState, { to, sentAtMs }: NonNullable<Debt['charged']>): Decision {
  const aheadMs = to.nowMs - sentAtMs;
  const windows = decision.windows.map((window) => {
    const { policy, resetAtMs } = window;
    if (policy.refill === 'continuous') return { ...window, resetAtMs: resetAtMs + aheadMs };
    // A window that was over had nothing to charge.
    if (resetAtMs <= sentAtMs || find(owed, policy)?.atMs !== resetAtMs) return { ...window, resetAtMs: 0 };
    const found = settle(find(to.state, policy), policy, to);
    return { ...window, resetAtMs: found.taken > 0 ? found.atMs : Math.min(found.atMs, resetAtMs + aheadMs) };
  });
  return { ...plainDecision(decision), windows };
}
