import type { BanState, KeyState, NamedBucket } from '../limiter.js';
import { BAN_FIELDS, checkPlan, isFrozen, type Plan, type QuotaPolicy } from '../plan.js';
import type { Instant } from '../token-bucket.js';

type Mode = 'take' | 'peek' | 'charge' | 'refund' | 'ban' | 'carry_ban' | 'unban';

/** The text to send in place of a plan, for a call that needs none. */
export const NO_PLAN = '=0||';

const known = new WeakMap<Plan, string>();

/**
 * Returns a plan as text, in the form that the script expects in ARGV: `=`, the number of windows,
 * the ban policy, then each window.
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

/**
 * The number of windows is sent as one character. The code of the character is this constant plus
 * the number.
 */
const FIRST_CHARACTER = 48;

/**
 * Refusals that this process decided alone and the server does not know of. They follow the first
 * refusal of the key, at `refusedAtMs`. No request was allowed in between. The script ignores them
 * if the server has recorded another first refusal.
 */
export interface Report {
  readonly refusedAtMs: number;
  /** How many of the refusals were forgiven: they do not count towards a ban. */
  readonly forgiven: number;
  /** The times of the refusals that count towards a ban, by the server's clock. */
  readonly strikesAtMs: readonly number[];
}

export interface Call {
  readonly mode: Mode;
  /**
   * With `take` and `peek`: the tokens to take. With `ban` and `carry_ban`: the milliseconds until
   * the ban ends. In all other modes: 0.
   */
  readonly cost: number;
  readonly report?: Report | undefined;
  /** The current time. If absent, the script reads the server's clock. */
  readonly instant?: Instant | undefined;
  /**
   * Further parameters of three modes. `charge` has a pair of numbers for each window of the plan:
   * the amount that was taken without the server, in the unit of `Bucket.taken`, and the
   * milliseconds until the window ends (0 with continuous refill). `refund` has a pair for each
   * window: the tokens to put back, and the window's `resetAtMs` in the decision. `carry_ban` has
   * two pairs: the length and the level of the ban, then the milliseconds until the ban is
   * forgotten and an unused 0.
   */
  readonly amounts?: readonly Amount[] | undefined;
}

export type Amount = readonly [number, number];

/**
 * Returns the script's arguments that follow the deadline and the plan: cost, mode, instant,
 * report, then each number of `amounts`. The instant and the report are one argument each, with
 * spaces between their numbers. A plain request (`take` with cost 1) has none of these arguments,
 * because the script has defaults for them.
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

/** The state of a key before a call, and the time when the server acted. */
export interface Found extends Instant {
  /** The buckets of the call's plan, and the ban state with the refusals that the call reported. */
  readonly state: KeyState;
  /**
   * The key may still have buckets from its former plans. This is the earliest time when one of
   * them is full again, or `Infinity` if there are none.
   */
  readonly othersFullAtMs: number;
}

/** The state of a key after an allowed request, and the time when the server acted. */
export interface Passed extends Instant {
  /**
   * The time when the server acted, then two numbers for each window: `Bucket.taken`, and the
   * milliseconds until `Bucket.atMs`.
   */
  readonly numbers: readonly number[];
}

/**
 * Reads the script's reply, a list of integers. The first integer is the time when the server
 * acted. If the call arrived after its deadline, nothing follows.
 *
 * If a request was allowed, two integers follow for each window: `taken` and the milliseconds until
 * `atMs`, as they are after the request. For any other call, `taken` and `atMs` follow for each
 * window, as they were before the call. The next integer is the earliest time when a bucket of one
 * of the key's former plans is full again, or 0 if there is none. The ban state comes last, if
 * there is one.
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
 * Returns the integers of a reply, which Redis clients return as numbers, bigints or strings.
 * Returns an empty list for any other reply.
 */
function integersOf(answer: unknown): readonly number[] {
  if (!Array.isArray(answer)) return [];
  if (answer.every(Number.isInteger)) return answer;
  const numbers = answer.map(Number);
  return numbers.every(Number.isInteger) ? numbers : [];
}

/** Parses the state of a key from the text that the script `INSPECT` returns. */
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

/** A ban state is sent as this many numbers, followed by each of its `strikesAtMs`. */
const BAN_NUMBERS = 6;

function banStateOf(numbers: readonly number[]): BanState {
  const [refusedAtMs = 0, forgiven = 0, banEndMs = 0, banMs = 0, level = 0, forgetAtMs = 0] = numbers;
  return { refusedAtMs, forgiven, strikesAtMs: numbers.slice(BAN_NUMBERS), banEndMs, banMs, level, forgetAtMs };
}
