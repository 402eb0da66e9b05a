import type { BanState, KeyState, NamedBucket } from '../limiter.js';
import { BAN_FIELDS, checkPlan, isFrozen, type Plan, type QuotaPolicy } from '../plan.js';
import type { Instant } from '../token-bucket.js';

type Mode = 'take' | 'peek' | 'charge' | 'refund' | 'ban' | 'carry_ban' | 'unban';

/** The plan of a call that is about no plan. */
export const NO_PLAN = '=0||';

const known = new WeakMap<Plan, string>();

/** Returns a plan as the script's ARGV has it: `=`, how many windows, the ban policy, and each window. */
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

/** Of 0 windows. */
const FIRST_CHARACTER = 48;

/**
 * Refusals that a process has decided by itself and the server does not know of. They are of the
 * streak that began at `refusedAtMs`; of another one the script takes no notice.
 */
export interface Report {
  readonly refusedAtMs: number;
  /** How many the grace forgave. */
  readonly forgiven: number;
  /** Instants of the server’s clock. */
  readonly strikesAtMs: readonly number[];
}

export interface Call {
  readonly mode: Mode;
  /** Tokens; the length of a `ban`; 0 for the other modes. */
  readonly cost: number;
  readonly report?: Report | undefined;
  /** What the clock shows, unless it is the server's. */
  readonly instant?: Instant | undefined;
  /**
   * Two for each window. `charge`: what was taken elsewhere in the unit of `Bucket.taken`, and in how many ms that
   * window ends. `refund`: tokens to put back, and the end of the window as it was announced.
   */
  readonly amounts?: readonly Amount[] | undefined;
}

export type Amount = readonly [number, number];

/**
 * Returns the script's ARGV after the latest instant to act at and the plan: `cost mode instant report
 * amounts…`, each numbers with spaces between. What is left out at the end has its default: a plain
 * request is of none.
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

/** What the script found, and when. */
export interface Found extends Instant {
  /** The buckets of the plan, and the ban state with what was reported. */
  readonly state: KeyState;
  /** When the first of the key's other buckets is full again. */
  readonly othersFullAtMs: number;
}

/** A request that passed, and when. */
export interface Passed extends Instant {
  /** Now, and of each window what is taken now and in how many ms `Bucket.atMs` is. */
  readonly numbers: readonly number[];
}

/**
 * Reads the script's answer: now; for each window `taken` and `atMs` as found, when the first other bucket is full,
 * and the ban state if there is one. Of a request that passes now, and for each window `taken` and in how many ms
 * `atMs` is, after it. Only the server's time if the call came too late to act.
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
  throw new TypeError('send: answered something else than the script');
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

/** Clients may give integers as numbers, bigints or texts. None if they are anything else. */
function integersOf(answer: unknown): readonly number[] {
  if (!Array.isArray(answer)) return [];
  if (answer.every(Number.isInteger)) return answer;
  const numbers = answer.map(Number);
  return numbers.every(Number.isInteger) ? numbers : [];
}

/** What the server remembers, as its script printed it. */
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

/** How many numbers a ban state has without its strikes. */
const BAN_NUMBERS = 6;

function banStateOf(numbers: readonly number[]): BanState {
  const [refusedAtMs = 0, forgiven = 0, banEndMs = 0, banMs = 0, level = 0, forgetAtMs = 0] = numbers;
  return { refusedAtMs, forgiven, strikesAtMs: numbers.slice(BAN_NUMBERS), banEndMs, banMs, level, forgetAtMs };
}
