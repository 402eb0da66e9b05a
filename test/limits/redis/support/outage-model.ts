import { type Clock, createMemoryLimiter, type Decision, type KeyState, type Plan } from 'store-orders/limiter';
import { plainDecision } from '../../support/plain-decision.js';

type Bucket = KeyState['buckets'][number];
type Policy = Plan['policies'][number];

/** A request that was allowed while the server was away. */
interface Admitted {
  readonly key: string;
  readonly decision: Decision;
  readonly text: string;
  /**
   * Whether and how the server has charged the request:
   *
   * - `undefined`: the outage has not ended.
   * - `'over'`: the request is never charged, because its windows have ended or its key was reset.
   * - `'charged'`: the request has been charged, but the charged windows are still unknown.
   * - a decision: a copy of the decision with the windows that were charged.
   */
  charged?: Decision | 'charged' | 'over';
}

/** A request allowed during the outage, or the refund of such a request, with a negative cost. */
interface Event {
  readonly atMs: number;
  readonly cost: number;
  readonly windows: Decision['windows'];
}

/**
 * Creates a simple model of how a Redis limiter must behave before, during and after outages. One
 * memory limiter stands for the server, and one for the process. The model records every request
 * that is allowed during an outage.
 */
export function createOutageModel(clock: Clock) {
  const server = createMemoryLimiter({ clock });
  const local = createMemoryLimiter({ clock });
  const admitted = new Map<Decision, Admitted>();
  const events = new Map<string, { readonly key: string; readonly plan: Plan; readonly list: Event[] }>();
  const newBans = new Set<string>();
  let isCut = false;

  const isRunning = (state: KeyState | undefined) => (state?.ban?.banEndMs ?? 0) > clock.nowMs();

  /**
   * Charges the requests of an outage, plan by plan, in the order in which the plans first allowed
   * a request.
   */
  function charge(): void {
    for (const [text, { key, plan, list }] of events) {
      const charges = plan.policies.map((policy) => chargeWindow(key, policy, list));
      for (const one of admitted.values()) {
        // A window that has ended is neither charged nor refunded. `'over'` marks a request whose
        // windows have all ended.
        if (one.text === text && one.charged === undefined) one.charged = charges.includes(true) ? 'charged' : 'over';
      }
    }
    events.clear();
    for (const one of admitted.values()) {
      if (one.charged === 'charged') one.charged = asCharged(one);
    }
  }

  function chargeWindow(key: string, policy: Policy, happened: readonly Event[]): boolean {
    const nowMs = clock.nowMs();
    const state = server.inspect(key);
    const others = (state?.buckets ?? []).filter((bucket) => !isOf(bucket, policy));
    const stored = (state?.buckets ?? []).find((bucket) => isOf(bucket, policy));
    const bucket = (policy.refill === 'interval' ? chargedInterval : chargedTrickle)(stored, policy, happened, nowMs);
    if (bucket !== undefined) server.restore(key, { ...state, buckets: [...others, bucket] });
    return bucket !== undefined;
  }

  function happens({ key, text, decision }: Admitted, cost: number): void {
    const list: Event[] = events.get(text)?.list ?? [];
    events.set(text, { key, plan: decision.plan, list });
    list.push({ atMs: clock.nowMs(), cost, windows: decision.windows });
  }

  function asCharged({ key, decision }: Admitted): Decision {
    const buckets = server.inspect(key)?.buckets ?? [];
    const windows = decision.windows.map((window) => {
      if (window.policy.refill === 'continuous' || window.resetAtMs <= clock.nowMs()) return window;
      return { ...window, resetAtMs: buckets.find((bucket) => isOf(bucket, window.policy))?.atMs ?? 0 };
    });
    return { ...plainDecision(decision), windows };
  }

  function carryBan(key: string): void {
    const nowMs = clock.nowMs();
    const ban = local.inspect(key)?.ban;
    if (ban === undefined || ban.banEndMs <= nowMs) return;
    const state = server.inspect(key);
    const isOutlasted = (state?.ban?.banEndMs ?? 0) < ban.banEndMs;
    const { banEndMs, banMs } = isOutlasted ? ban : (state?.ban ?? ban);
    const isRemembered = (state?.ban?.forgetAtMs ?? 0) > nowMs;
    server.restore(key, {
      buckets: state?.buckets ?? [],
      ban: {
        ...ban,
        banEndMs,
        banMs,
        level: Math.max(ban.level, isRemembered ? (state?.ban?.level ?? 0) : 0),
        forgetAtMs: Math.max(ban.forgetAtMs, state?.ban?.forgetAtMs ?? 0),
      },
    });
  }

  return {
    server,
    take(key: string, plan: Plan, cost: number): Decision {
      if (isCut) {
        const wasBanned = isRunning(local.inspect(key));
        const decision = local.take(key, plan, cost);
        if (decision.verdict === 'within_quota' && cost > 0) {
          const one = { key, decision, text: JSON.stringify([key, plan.policies, plan.ban]) };
          admitted.set(decision, one);
          happens(one, cost);
        }
        if (!wasBanned && isRunning(local.inspect(key))) newBans.add(key);
        return decision;
      }
      const decision = server.take(key, plan, cost);
      const known = local.inspect(key);
      const ban = server.inspect(key)?.ban;
      if (decision.verdict === 'banned' && ban) local.restore(key, { buckets: known?.buckets ?? [], ban });
      else if (isRunning(known)) local.unban(key);
      return decision;
    },
    peek: (key: string, plan: Plan, cost: number) => (isCut ? local : server).peek(key, plan, cost),

    /**
     * Refunds a decision. Returns false if the refund needs the server and the server is cut off.
     */
    refund(decision: Decision): boolean {
      const one = admitted.get(decision);
      if (one !== undefined) local.refund(decision);
      if (one !== undefined && one.charged === undefined) {
        happens(one, -decision.cost);
        admitted.delete(decision);
        return true;
      }
      if (one?.charged === 'over') return true;
      if (!isCut) server.refund(typeof one?.charged === 'object' ? one.charged : decision);
      return !isCut || decision.verdict !== 'within_quota';
    },
    ban(key: string, ms: number): void {
      local.ban(key, ms);
      if (isCut) newBans.add(key);
      else server.ban(key, ms);
    },
    unban(key: string): void {
      local.unban(key);
      newBans.delete(key);
      if (!isCut) server.unban(key);
    },
    reset(key: string): void {
      local.reset(key);
      newBans.delete(key);
      for (const one of admitted.values()) {
        if (one.key !== key || one.charged !== undefined) continue;
        one.charged = 'over';
        events.delete(one.text);
      }
      if (!isCut) server.reset(key);
    },
    cut(): void {
      isCut = true;
    },
    join(): void {
      isCut = false;
      charge();
      for (const key of newBans) carryBan(key);
      newBans.clear();
    },
  };
}

/**
 * Returns the bucket that the server must have after an outage, for a policy with interval refill.
 * The tokens taken during the outage from windows that are still open are added to the server's
 * open window, or to a new window. Returns `undefined` if there is nothing to charge.
 */
function chargedInterval(stored: Bucket | undefined, policy: Policy, happened: readonly Event[], nowMs: number) {
  const { name, windowMs, refill } = policy;
  const open = happened.flatMap(({ cost, windows }) => {
    const resetAtMs = windows.find((window) => isOf(window.policy, policy))?.resetAtMs ?? 0;
    return resetAtMs > nowMs ? [{ cost, resetAtMs }] : [];
  });
  const more = open.reduce((sum, { cost }) => sum + cost, 0);
  if (more === 0) return undefined;
  const isOpen = stored !== undefined && stored.taken > 0 && stored.atMs > nowMs;
  const endMs = policy.align === 'utc' ? nowMs + windowMs - (nowMs % windowMs) : nowMs + windowMs;
  const atMs = isOpen ? stored.atMs : Math.min(endMs, Math.max(...open.map(({ resetAtMs }) => resetAtMs)));
  return { name, windowMs, refill, taken: (isOpen ? stored.taken : 0) + more, atMs };
}

/**
 * Returns the bucket that the server must have after an outage, for a policy with continuous
 * refill. The tokens taken during the outage, less those refilled since, are added to the tokens
 * that the server still counts as taken. Returns `undefined` if there is nothing to charge.
 */
function chargedTrickle(stored: Bucket | undefined, policy: Policy, happened: readonly Event[], nowMs: number) {
  const { name, windowMs, refill, quota } = policy;
  const trickled = (taken: number, forMs: number) =>
    Math.max(0, Math.min(taken, quota * windowMs) - Math.min(forMs, windowMs) * quota);
  let owed = 0;
  let sinceMs = happened[0]?.atMs ?? nowMs;
  for (const { atMs, cost, windows } of happened) {
    owed = trickled(owed, atMs - sinceMs);
    sinceMs = atMs;
    const resetAtMs = windows.find((window) => isOf(window.policy, policy))?.resetAtMs ?? 0;
    if (cost > 0 || resetAtMs > atMs) owed = Math.max(0, owed + cost * windowMs);
  }
  owed = trickled(owed, nowMs - sinceMs);
  if (owed === 0) return undefined;
  const taken = trickled(stored?.taken ?? 0, nowMs - (stored?.atMs ?? nowMs)) + owed;
  return { name, windowMs, refill, taken, atMs: nowMs };
}

function isOf(bucket: Pick<Bucket, 'name' | 'windowMs' | 'refill'>, policy: Policy): boolean {
  return bucket.name === policy.name && bucket.windowMs === policy.windowMs && bucket.refill === policy.refill;
}
