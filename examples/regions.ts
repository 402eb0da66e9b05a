/**
 * Simulates how one API key is used in three regions, each with a limiter of its own. Measures how
 * many requests all regions together admit above the quota, and how many they deny although the
 * quota is not used up. Prints a table in % of the quota. `src/server/README.md` explains the
 * result.
 *
 *     node --import tsx examples/regions.ts
 */
import { fileURLToPath } from 'node:url';
import { createMemoryLimiter, createPlan, type Plan } from 'store-orders/limiter';
import { createManualClock } from 'store-orders/testing';

const REGIONS = 3;
const QUOTA = 1_000;
const WINDOW_MS = 60_000;
/**
 * The number of windows to simulate. The first one does not count, because at first the regions do
 * not know where the key is used.
 */
const WINDOWS = 6;
/** How often the regions exchange their counts. */
const EVERY_MS = 5_000;
/** How long a message between regions takes. */
const DELAY_MS = 500;
/** How many requests the key sends in a window, as a multiple of its quota. */
const DEMANDS = [1, 2, 10];
/** In each window, the key sends all its requests within this time. */
const PACES: Readonly<Record<string, number>> = { 'over the minute': WINDOW_MS, 'within a second': 1_000 };

/**
 * Returns a region's plan, whose quota is the region's share. The windows are minutes of UTC, so
 * all regions start a new window at the same time.
 */
function shareOf(quota: number): Plan {
  const policies = [{ name: 'minute', quota, windowMs: WINDOW_MS, align: 'utc' } as const];
  return createPlan({ name: 'share', policies, ban: false });
}

/** Returns the fraction of the requests that goes to each region at the given time. */
type Traffic = (atMs: number) => readonly number[];

const TRAFFICS: Readonly<Record<string, Traffic>> = {
  'one home': () => [1, 0, 0],
  even: () => [1 / 3, 1 / 3, 1 / 3],
  skewed: () => [0.8, 0.15, 0.05],
  // All requests go to one region at a time, and every 37 s to the next region. Because 60 s is not
  // a multiple of 37 s, the move comes at a different point of each window.
  wandering: (atMs) => [0, 1, 2].map((region) => (Math.floor(atMs / 37_000) % REGIONS === region ? 1 : 0)),
  // Most of the time, the requests go to the first region. While the regions exchange their counts,
  // the requests go to the other two regions.
  timed: (atMs) => (atMs % EVERY_MS < DELAY_MS ? [0, 0.5, 0.5] : [1, 0, 0]),
};

interface Request {
  readonly atMs: number;
  readonly region: number;
}

/**
 * How the regions divide the quota. A share is the number of requests that a region may admit in a
 * window. It is at least 1, because a plan cannot have a smaller quota.
 */
interface Policy {
  readonly shares: readonly number[];
  /**
   * Returns how much of its share each region keeps when it sends its count to the others.
   * `admitted` has the number of requests that each region has admitted in this window. By default,
   * each region keeps its whole share.
   */
  keep?(shares: readonly number[], admitted: readonly number[]): readonly number[];
  /**
   * Returns the shares that apply once the counts have arrived. `kept` has the shares that `keep`
   * returned. `asked` has the number of requests that each region received since the previous
   * exchange. Without this function, the regions do not exchange counts, and the shares never
   * change.
   */
  renew?(kept: readonly number[], admitted: readonly number[], asked: readonly number[]): readonly number[];
  /** Returns the theoretical maximum of requests that the regions admit above the quota. */
  mostAbove(requests: readonly Request[]): number;
  readonly mostDenied: number;
}

const EVEN = divide(QUOTA, [1, 1, 1]);

const POLICIES: Readonly<Record<string, Policy>> = {
  'the whole quota in each region': {
    shares: [QUOTA, QUOTA, QUOTA],
    mostAbove: () => (REGIONS - 1) * QUOTA,
    mostDenied: 0,
  },
  'a third of the quota in each region': {
    shares: EVEN,
    mostAbove: () => 0,
    mostDenied: QUOTA - Math.min(...EVEN),
  },
  'shares by use, from the counts of all regions': {
    shares: EVEN,
    renew(shares, admitted, asked) {
      const used = admitted.map((count) => Math.max(1, count));
      const rest = QUOTA - sumOf(used);
      return rest < 0 ? shares : sumsOf(used, divide(rest, asked));
    },
    // The counts do not include the requests that were admitted while the counts were on their way.
    mostAbove: (requests) => Math.min(QUOTA, mostOnTheWay(requests)),
    mostDenied: QUOTA - 1,
  },
  'shares by use, where each region first gives up half of its unused share': {
    shares: EVEN,
    keep: (shares, admitted) => shares.map((share, region) => keepHalf(share, admitted[region] ?? 0)),
    renew: (kept, _, asked) => sumsOf(kept, divide(QUOTA - sumOf(kept), asked)),
    mostAbove: () => 0,
    mostDenied: QUOTA - 1,
  },
};

function keepHalf(share: number, admitted: number): number {
  return Math.max(1, admitted + Math.ceil((share - admitted) / 2));
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function sumsOf(some: readonly number[], others: readonly number[]): number[] {
  return some.map((number, index) => number + (others[index] ?? 0));
}

/** Divides a whole number in the given proportion, into parts that are whole numbers. */
function divide(number: number, proportion: readonly number[]): number[] {
  const all = sumOf(proportion);
  let before = 0;
  return proportion.map((part) => {
    const from = Math.floor((number * before) / all);
    before += part;
    return Math.floor((number * before) / all) - from;
  });
}

function mostOnTheWay(requests: readonly Request[]): number {
  const counts = new Map<number, number>();
  for (const { atMs } of requests) {
    if (atMs % EVERY_MS >= DELAY_MS) continue;
    const round = Math.floor(atMs / EVERY_MS);
    counts.set(round, (counts.get(round) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}

/** For each figure, its greatest value in all windows and with all `DEMANDS`, in requests. */
interface Outcome {
  readonly above: number;
  /** Requests that were refused although the quota was not used up. */
  readonly denied: number;
  readonly mostAbove: number;
}

function simulate(policy: Policy, traffic: Traffic, withinMs: number): Outcome {
  let [above, denied, mostAbove] = [0, 0, 0];
  for (const [seed, demand] of DEMANDS.entries()) {
    const requests = requestsOf(traffic, demand * QUOTA, withinMs, seed);
    mostAbove = Math.max(mostAbove, policy.mostAbove(requests));
    for (const admitted of admittedOf(policy, requests).slice(1)) {
      above = Math.max(above, admitted - QUOTA);
      denied = Math.max(denied, Math.min(QUOTA, demand * QUOTA) - admitted);
    }
  }
  return { above, denied, mostAbove };
}

/** Returns the requests in order of time. The same seed returns the same requests. */
function requestsOf(traffic: Traffic, count: number, withinMs: number, seed: number): readonly Request[] {
  const random = createRandom(seed);
  const requests: Request[] = [];
  for (let window = 0; window < WINDOWS; window++) {
    const fromMs = window * WINDOW_MS + Math.floor(random() * (WINDOW_MS - withinMs));
    for (let n = 0; n < count; n++) {
      const atMs = fromMs + Math.floor(random() * withinMs);
      let rest = random();
      const region = traffic(atMs).findIndex((part) => {
        rest -= part;
        return rest < 0;
      });
      requests.push({ atMs, region: Math.max(0, region) });
    }
  }
  return requests.sort((a, b) => a.atMs - b.atMs);
}

/** Creates a mulberry32 generator of numbers in [0, 1). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns how many requests all regions together have admitted in each window. */
function admittedOf({ shares, keep, renew }: Policy, requests: readonly Request[]): readonly number[] {
  const clock = createManualClock(0);
  const regions = shares.map((share) => {
    return { limiter: createMemoryLimiter({ clock }), share, plan: shareOf(share), admitted: 0, asked: 0 };
  });
  const totals: number[] = Array(WINDOWS).fill(0);
  let receive: (() => readonly number[]) | undefined;
  let nextMs = renew === undefined ? Number.POSITIVE_INFINITY : EVERY_MS;

  function advance(toMs: number): void {
    const isAnother = Math.floor(toMs / WINDOW_MS) > Math.floor(clock.nowMs() / WINDOW_MS);
    clock.advance(toMs - clock.nowMs());
    if (isAnother) for (const region of regions) region.admitted = 0;
  }

  function give(next: readonly number[]): void {
    for (const [index, region] of regions.entries()) {
      region.share = next[index] ?? region.share;
      region.plan = shareOf(region.share);
    }
  }

  function send(): void {
    const before = regions.map(({ share }) => share);
    const admitted = regions.map((region) => region.admitted);
    const asked = regions.map((region) => region.asked);
    const kept = keep?.(before, admitted) ?? before;
    give(kept);
    for (const region of regions) region.asked = 0;
    // If no region has received a request since the previous exchange, each region again gets the
    // share that it had before it sent its count.
    receive = () => (sumOf(asked) === 0 ? before : (renew?.(kept, admitted, asked) ?? kept));
  }

  for (const { atMs, region: index } of requests) {
    for (; nextMs <= atMs; nextMs += receive === undefined ? EVERY_MS - DELAY_MS : DELAY_MS) {
      advance(nextMs);
      if (receive === undefined) {
        send();
      } else {
        give(receive());
        receive = undefined;
      }
    }
    advance(atMs);
    const region = regions[index];
    if (region === undefined) throw new RangeError(`no region ${index}`);
    region.asked++;
    if (!region.limiter.take('customer-1', region.plan).allowed) continue;
    region.admitted++;
    const window = Math.floor(atMs / WINDOW_MS);
    totals[window] = (totals[window] ?? 0) + 1;
  }
  return totals;
}

export function simulateAll() {
  return Object.entries(POLICIES).flatMap(([name, policy]) =>
    Object.entries(PACES).map(([pace, withinMs]) => {
      const outcomes = Object.values(TRAFFICS).map((traffic) => simulate(policy, traffic, withinMs));
      return { name, pace, outcomes, mostDenied: policy.mostDenied };
    }),
  );
}

/**
 * Returns a Markdown table. For each pattern of traffic, it has the number of requests admitted
 * above the quota, and the number denied within the quota, both in % of the quota.
 */
export function printRegions(rows: ReturnType<typeof simulateAll>): string {
  const cell = (...parts: number[]) => parts.map((part) => Math.round((part * 100) / QUOTA)).join(' / ');
  const lines = rows.map(({ name, pace, outcomes, mostDenied }) => [
    `${name}, ${pace}`,
    cell(Math.max(...outcomes.map(({ mostAbove }) => mostAbove)), mostDenied),
    ...outcomes.map(({ above, denied }) => cell(above, denied)),
  ]);
  const head = ['division of the quota, and time in which the requests arrive', 'at most', ...Object.keys(TRAFFICS)];
  const rule = head.map((_, index) => (index === 0 ? '---' : '---:'));
  return [head, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(printRegions(simulateAll()));
