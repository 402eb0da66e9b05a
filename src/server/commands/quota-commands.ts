import { describePlan, toPlan } from '../data/key-plan.js';
import type { KeyRecord } from '../data/key-ring.js';
import { type QuotaDesk, savedQuotaDesk } from '../quota-desk.js';
import { type Command, DATA_OPTIONS, done, failed, type Invocation, type Outcome, withData } from './command.js';
import { noSuchKey } from './key-commands.js';

export const quotaCommands: readonly Command[] = [
  {
    name: 'quota show',
    summary: 'Shows what a key has left, as of the last half second, and whether it is banned.',
    operands: ['KEY_ID'],
    options: DATA_OPTIONS,
    run: (invocation) => withKey(invocation, showQuota),
  },
  {
    name: 'quota reset',
    summary: 'Gives a key its full quotas back and lifts its ban. A running server does so within a second.',
    operands: ['KEY_ID'],
    options: DATA_OPTIONS,
    run: (invocation) => withKey(invocation, resetQuota),
  },
  {
    name: 'ban lift',
    summary: 'Ends the ban of a key; its quotas stay as they are. A running server does so within a second.',
    operands: ['KEY_ID'],
    options: DATA_OPTIONS,
    run: (invocation) => withKey(invocation, liftBan),
  },
];

function withKey(
  invocation: Invocation,
  work: (desk: QuotaDesk, key: KeyRecord) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  const [id = ''] = invocation.operands;
  return withData(invocation, async ({ keys, quotas }) => {
    const key = await keys.get(id);
    if (key === undefined) return failed(noSuchKey(id));
    if (quotas === undefined) throw new TypeError('the data has no place for quotas');
    return work(savedQuotaDesk(quotas), key);
  });
}

async function showQuota(desk: QuotaDesk, { id, plan }: KeyRecord): Promise<Outcome> {
  const { windows, verdict, nowMs, retryAfterMs, utcOffsetMs } = await desk.peek(id, toPlan(plan));
  const shown = windows.map(({ policy, remaining, resetAtMs }) => ({
    name: policy.name,
    quota: policy.quota,
    remaining,
    resetAt: remaining === policy.quota ? null : isoTime(resetAtMs + utcOffsetMs),
  }));
  const bannedUntil = verdict === 'banned' ? isoTime(nowMs + retryAfterMs + utcOffsetMs) : null;
  const rows = shown.map(
    ({ name, quota, remaining, resetAt }) =>
      `${name}: ${remaining} of ${quota} left${resetAt === null ? '' : `, full again ${resetAt}`}`,
  );
  const ban = bannedUntil === null ? 'not banned' : `banned until ${bannedUntil}`;
  return done([`${id}: ${describePlan(plan)}`, ...rows, ban].join('\n'), {
    id,
    plan: plan.name,
    windows: shown,
    bannedUntil,
  });
}

function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString();
}

async function resetQuota(desk: QuotaDesk, { id }: KeyRecord): Promise<Outcome> {
  await desk.reset(id);
  return done(`${id} has its full quotas`, { id, done: 'reset' });
}

async function liftBan(desk: QuotaDesk, { id }: KeyRecord): Promise<Outcome> {
  await desk.liftBan(id);
  return done(`${id} is not banned`, { id, done: 'lift_ban' });
}
