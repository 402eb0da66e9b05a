import type { Conduct, KeyState, NamedBucket } from '../limiter.js';
import type { Plan, QuotaPolicy } from '../plan.js';
import type { Instant } from '../token-bucket.js';

/** What is to be said of no plan at all. */
export const NO_PLAN = '=|';

const known = new WeakMap<Plan, string>();

/** What a plan is in the script's ARGV. */
export function planArgument(plan: Plan): string {
  const ready = known.get(plan);
  if (ready !== undefined) return ready;
  const { ban, enforce, policies } = plan;
  const conduct = ban ? BAN_FIELDS.map((field) => ban[field]).join(' ') + (enforce ? ' 1' : ' 0') : '';
  const windows = policies.map(({ name, windowMs, refill, quota, align }) =>
    [name, windowMs, refill, quota, align].join(' '),
  );
  const made = `=${conduct}|${windows.join(';')};`;
  known.set(plan, made);
  return made;
}

const BAN_FIELDS = ['after', 'withinMs', 'graceMs', 'baseMs', 'factor', 'maxMs', 'forgetMs'] as const;

/** What the script found, and when. */
export interface Found extends Instant {
  /** The buckets of the plan, and the conduct. */
  readonly state: KeyState;
  /** When the first of the key's other buckets is full again. */
  readonly othersFullAtMs: number;
}

/** A request that passed, and when. */
export interface Passed extends Instant {
  /** Now, and of each window what is taken now and in how many ms `Bucket.atMs` is. */
  readonly numbers: readonly number[];
}

/** The script's answer; only the server's time if the call came too late to act. */
export function readAnswer(
  answer: unknown,
  policies: readonly QuotaPolicy[],
  utcOffsetMs: number,
): Found | Passed | Pick<Instant, 'nowMs'> {
  const numbers = integersOf(answer);
  const [nowMs] = numbers;
  const others = 1 + 2 * policies.length;
  if (nowMs !== undefined) {
    if (numbers.length === 1) return { nowMs };
    if (numbers.length === others) return { nowMs, utcOffsetMs, numbers };
    if (numbers.length === others + 1 || numbers.length === others + 8)
      return { ...readFound(numbers, policies), nowMs, utcOffsetMs };
  }
  throw new TypeError('send: answered something else than the script');
}

function readFound(numbers: readonly number[], policies: readonly QuotaPolicy[]): Omit<Found, keyof Instant> {
  const at = (index: number) => numbers[index] ?? 0;
  const others = 1 + 2 * policies.length;
  const buckets = policies.flatMap(({ name, windowMs, refill }, index) => {
    const taken = at(1 + 2 * index);
    return taken > 0 ? { name, windowMs, refill, taken, atMs: at(2 + 2 * index) } : [];
  });
  const isGood = numbers.length === others + 1;
  return {
    state: isGood ? { buckets } : { buckets, conduct: conductOf(numbers.slice(others + 1)) },
    othersFullAtMs: at(others) || Number.POSITIVE_INFINITY,
  };
}

/** Clients may give integers as numbers, bigints or texts. None if they are anything else. */
function integersOf(answer: unknown): readonly number[] {
  if (!Array.isArray(answer)) return [];
  if (answer.every(Number.isInteger)) return answer;
  const numbers = answer.map(Number);
  return numbers.every(Number.isInteger) ? numbers : [];
}

/** What the server remembers, as its script printed it. */
export function readState(answer: unknown): KeyState | undefined {
  const [conduct = '', printed = ''] = String(answer).split('!');
  const buckets = printed.split(';').flatMap((text): NamedBucket | [] => {
    const [name = '', windowMs, refill, taken, atMs] = text.split(' ');
    if (name === '') return [];
    return {
      name,
      windowMs: Number(windowMs),
      refill: refill === 'continuous' ? 'continuous' : 'interval',
      taken: Number(taken),
      atMs: Number(atMs),
    };
  });
  if (conduct !== '') return { buckets, conduct: conductOf(conduct.split(' ').map(Number)) };
  return buckets.length === 0 ? undefined : { buckets };
}

function conductOf(numbers: readonly number[]): Conduct {
  const [refusedAtMs = 0, strikes = 0, strikesEndMs = 0, banEndMs = 0, banMs = 0, level = 0, forgetAtMs = 0] = numbers;
  return { refusedAtMs, strikes, strikesEndMs, banEndMs, banMs, level, forgetAtMs };
}
