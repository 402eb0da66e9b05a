import type { Conduct, KeyState, NamedBucket } from './limiter.js';
import type { Plan, QuotaPolicy } from './plan.js';

/** What a plan is in the script's ARGV. */
export interface PlanArguments {
  /** The windows. */
  readonly plan: string;
  /** The ban policy, and whether refusals count. */
  readonly ban: string;
}

export const NO_PLAN: PlanArguments = { plan: '=', ban: '' };

const known = new WeakMap<Plan, PlanArguments>();

export function planArguments(plan: Plan): PlanArguments {
  const ready = known.get(plan);
  if (ready !== undefined) return ready;
  const { ban, enforce, policies } = plan;
  const windows = policies.map(({ name, windowMs, refill, quota, align }) =>
    [name, windowMs, refill, quota, align].join(' '),
  );
  const made: PlanArguments = {
    plan: `=${windows.map((window) => `${window};`).join('')}`,
    ban: ban ? BAN_FIELDS.map((field) => ban[field]).join(' ') + (enforce ? ' 1' : ' 0') : '',
  };
  known.set(plan, made);
  return made;
}

const BAN_FIELDS = ['after', 'withinMs', 'graceMs', 'baseMs', 'factor', 'maxMs', 'forgetMs'] as const;

/** What the script found, and when. */
export interface Found {
  readonly nowMs: number;
  /** The buckets of the plan, and the conduct. */
  readonly state: KeyState;
  /** When the first of the key's other buckets is full again. */
  readonly othersFullAtMs: number;
}

/** The script's answer; only the server's time if the call came too late to act. */
export function readAnswer(answer: unknown, policies: readonly QuotaPolicy[]): Found | Pick<Found, 'nowMs'> {
  const numbers = Array.isArray(answer) ? answer.map(Number) : [];
  const [nowMs = Number.NaN] = numbers;
  const at = (index: number) => numbers[index] ?? 0;
  const others = 1 + 2 * policies.length;
  if (!numbers.every(Number.isInteger) || ![1, others, others + 1, others + 8].includes(numbers.length)) {
    throw new TypeError('send: answered something else than the script');
  }
  if (numbers.length === 1) return { nowMs };
  const buckets = policies.flatMap(({ name, windowMs, refill }, index) => {
    const taken = at(1 + 2 * index);
    return taken > 0 ? { name, windowMs, refill, taken, atMs: at(2 + 2 * index) } : [];
  });
  const isGood = numbers.length <= others + 1;
  return {
    nowMs,
    state: isGood ? { buckets } : { buckets, conduct: conductOf(numbers.slice(others + 1)) },
    othersFullAtMs: at(others) || Number.POSITIVE_INFINITY,
  };
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
