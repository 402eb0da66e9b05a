import type { Conduct, KeyState, NamedBucket } from './limiter.js';
import type { Plan, QuotaPolicy } from './plan.js';

/** What a plan is in the script's ARGV. */
export interface PlanArguments {
  /** The ban policy, and whether refusals count. */
  readonly ban: string;
  /** Three arguments for each window. */
  readonly windows: readonly string[];
}

const known = new WeakMap<Plan, PlanArguments>();

export function planArguments(plan: Plan): PlanArguments {
  const ready = known.get(plan);
  if (ready !== undefined) return ready;
  const { ban, enforce, policies } = plan;
  const made: PlanArguments = {
    ban: ban ? BAN_FIELDS.map((field) => ban[field]).join(' ') + (enforce ? ' 1' : ' 0') : '',
    windows: policies.flatMap(({ name, windowMs, refill, quota, align }) => [
      `${name} ${windowMs} ${refill}`,
      `${refill === 'continuous' ? -quota : quota}`,
      `${align === 'utc' ? -windowMs : windowMs}`,
    ]),
  };
  known.set(plan, made);
  return made;
}

/** The arguments of the windows with two more each. */
export function withAmounts(windows: readonly string[], amounts: readonly (readonly [number, number])[]): string[] {
  return amounts.flatMap(([first, second], index) => [
    ...windows.slice(index * 3, index * 3 + 3),
    `${first}`,
    `${second}`,
  ]);
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
  if (!numbers.every(Number.isInteger) || ![1, others + 1, others + 8].includes(numbers.length)) {
    throw new TypeError('send: answered something else than the script');
  }
  if (numbers.length === 1) return { nowMs };
  const buckets = policies.flatMap(({ name, windowMs, refill }, index) => {
    const taken = at(1 + 2 * index);
    return taken > 0 ? { name, windowMs, refill, taken, atMs: at(2 + 2 * index) } : [];
  });
  const isGood = numbers.length === others + 1;
  return {
    nowMs,
    state: isGood ? { buckets } : { buckets, conduct: conductOf(numbers.slice(others + 1)) },
    othersFullAtMs: at(others) || Number.POSITIVE_INFINITY,
  };
}

/** The whole hash as the server's script printed it: fields and values, all between bars. */
export function readState(answer: unknown): KeyState | undefined {
  const fields = new Map<string, string>();
  const parts = String(answer).split('|');
  for (let index = 0; index + 1 < parts.length; index += 2) fields.set(parts[index] ?? '', parts[index + 1] ?? '');
  const buckets: NamedBucket[] = [];
  for (const [field, taken] of fields) {
    const [name = '', windowMs, refill, at] = field.split(' ');
    if (windowMs === undefined || at !== undefined) continue;
    buckets.push({
      name,
      windowMs: Number(windowMs),
      refill: refill === 'continuous' ? 'continuous' : 'interval',
      taken: Number(taken),
      atMs: Number(fields.get(`${field} at`)),
    });
  }
  const conduct = fields.get('conduct');
  if (conduct !== undefined) return { buckets, conduct: conductOf(conduct.split(' ').map(Number)) };
  return buckets.length === 0 ? undefined : { buckets };
}

function conductOf(numbers: readonly number[]): Conduct {
  const [refusedAtMs = 0, strikes = 0, strikesEndMs = 0, banEndMs = 0, banMs = 0, level = 0, forgetAtMs = 0] = numbers;
  return { refusedAtMs, strikes, strikesEndMs, banEndMs, banMs, level, forgetAtMs };
}
