import type { BanState, KeyState, NamedBucket } from '../limiter.js';
import { BAN_FIELDS, checkPlan, isFrozen, type Plan, type QuotaPolicy } from '../plan.js';
import type { Instant } from '../token-bucket.js';

type Mode = 'take' | 'peek' | 'charge' | 'refund' | 'ban' | 'carry_ban' | 'unban';

/** The plan argument of a call that needs no plan. */
export const NO_PLAN = '=0||';

const known = new WeakMap<Plan, string>();

/**
 * Returns a plan in the form of the script's ARGV: `=`, the number of windows, the ban policy, then
 * each window.
 */
export function planArgument(plan: Plan): string {
  const ready = known.get(plan);
  if (ready !== undefined) return ready;
  checkPlan(plan);
  const { ban, enforce, policies } = plan;
  const banPolicy = ban ? BAN_FIELDS.map((field) => ban[field]).join(' ') + (enforce ? ' 1' : ' 0') : '';
  const windows = policies.map(
    ({ name, windowMs, refill, quota, align }) => `${name} ${windowMs} ${refill} ${quota} ${align};`,
  );
  const made = `=${String.fromCharCode(FIRST_CHARACTER + policies.length)}|${banPolicy}|${windows.join('')}`;
  if (isFrozen(plan)) known.set(plan, made);
  return made;
}

/** The code of the character that stands for 0 windows. */
const FIRST_CHARACTER = 48;

/**
 * Refusals that this process decided alone and the server does not know of. They belong to the
 * streak that began at `refusedAtMs`. The script ignores them if the server's streak is a different
 * one.
 */
export interface Report {
  readonly refusedAtMs: number;
  /** How many of the refusals were forgiven. */
  readonly forgiven: number;
  /** Instants of the server's clock. */
  readonly strikesAtMs: readonly number[];
}

export interface Call {
  readonly mode: Mode;
  /**
   * `take` and `peek`: tokens. `ban` and `carry_ban`: milliseconds until the ban ends. Otherwise 0.
   */
  readonly cost: number;
  readonly report?: Report | undefined;
  /** The current instant. Default: that of the server's clock. */
  readonly instant?: Instant | undefined;
  /**
   * Two numbers for each window. `charge`: the amount taken elsewhere, in the unit of
   * `Bucket.taken`, and the milliseconds until that window ends. `refund`: the tokens to put back,
   * and the announced end of their window. `carry_ban` passes the ban's length and level, then the
   * milliseconds until the ban is forgotten, and 0.
   */
  readonly amounts?: readonly Amount[] | undefined;
}

export type Amount = readonly [number, number];

/**
 * Returns the script's ARGV after the deadline and the plan: `cost mode instant report amounts…`,
 * with spaces between the numbers of `instant` and of `report`. Each number of `amounts` is an
 * argument of its own. Trailing arguments are left out if they have their defaults, so a plain
 * request has none.
 */
export function callArguments({ mode, cost, report, instant, amounts = [] }: Call): readonly string[] {
  if (mode === 'take' && cost === 1 && report === undefined && instant === undefined) return NOTHING_MORE;
  return [
    `${cost}`,
    mode,
    instant === undefined ? '' : `${instant.nowMs} ${instant.utcOffsetMs}`,
    report === undefined ? '' : [report.refusedAtMs, report.forgiven, ...report.strikesAtMs].join(' '),
    ...amounts.flat().map(String),
  ];
}

const NOTHING_MORE: readonly string[] = [];

/** The state that the script found, with the instant. */
export interface Found extends Instant {
  /** The buckets of the plan, and the ban state including what was reported. */
  readonly state: KeyState;
  /** When the first bucket of another plan is full again. */
  readonly othersFullAtMs: number;
}

/** The numbers of an allowed request, with the instant. */
export interface Passed extends Instant {
  /**
   * The instant, then for each window the amount taken and the milliseconds until `Bucket.atMs`.
   */
  readonly numbers: readonly number[];
}

/**
 * Reads the script's reply, a list of integers that begins with the server's time. For an allowed
 * request, `taken` and the milliseconds until `atMs` of each window follow, as the request left
 * them. For a refused request, `taken` and `atMs` of each window follow as they were found, then
 * the instant when the first bucket of another plan is full, then the ban state if there is one. If
 * the call arrived after its deadline, nothing follows.
 */
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
    if (numbers.length === others + 1 || numbers.length >= others + 1 + BAN_NUMBERS)
      return { ...readFound(numbers, policies), nowMs, utcOffsetMs };
  }
  throw new TypeError("send: returned something other than the script's reply");
}

function readFound(numbers: readonly number[], policies: readonly QuotaPolicy[]): Omit<Found, keyof Instant> {
  const at = (index: number) => numbers[index] ?? 0;
  const others = 1 + 2 * policies.length;
  const buckets = policies.flatMap(({ name, windowMs, refill }, index) => {
    const taken = at(1 + 2 * index);
    return taken > 0 ? { name, windowMs, refill, taken, atMs: at(2 + 2 * index) } : [];
  });
  const ban = numbers.slice(others + 1);
  return {
    state: ban.length === 0 ? { buckets } : { buckets, ban: banStateOf(ban) },
    othersFullAtMs: at(others) || Number.POSITIVE_INFINITY,
  };
}

/**
 * Clients may return integers as numbers, bigints or strings. Returns an empty list for anything
 * else.
 */
function integersOf(answer: unknown): readonly number[] {
  if (!Array.isArray(answer)) return [];
  if (answer.every(Number.isInteger)) return answer;
  const numbers = answer.map(Number);
  return numbers.every(Number.isInteger) ? numbers : [];
}

/** Reads the state that the server remembers, as its script serialises it. */
export function readState(answer: unknown): KeyState | undefined {
  const [ban = '', printed = ''] = String(answer).split('!');
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
  if (ban !== '') return { buckets, ban: banStateOf(ban.trim().split(' ').map(Number)) };
  return buckets.length === 0 ? undefined : { buckets };
}

/** How many numbers of a ban state precede its strikes. */
const BAN_NUMBERS = 6;

function banStateOf(numbers: readonly number[]): BanState {
  const [refusedAtMs = 0, forgiven = 0, banEndMs = 0, banMs = 0, level = 0, forgetAtMs = 0] = numbers;
  return { refusedAtMs, forgiven, strikesAtMs: numbers.slice(BAN_NUMBERS), banEndMs, banMs, level, forgetAtMs };
}
