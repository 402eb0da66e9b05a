import { createMemoryLimiter, createSystemClock } from '../limits/index.js';
import {
  type Command,
  DATABASE_OPTIONS,
  done,
  failed,
  type Invocation,
  type Outcome,
  withDatabase,
} from './command.js';
import type { ProgramDatabase } from './database.js';
import { noSuchKey } from './key-commands.js';
import { describePlan, toPlan } from './key-plan.js';
import { createKeyRing, type KeyRecord } from './key-ring.js';
import { createQuotaTable, type QuotaRequest } from './quota-table.js';
import { shifted } from './quotas.js';

export const quotaCommands: readonly Command[] = [
  {
    name: 'quota show',
    summary: 'Shows what a key has left, as of the last half second, and whether it is banned.',
    operands: ['KEY_ID'],
    options: DATABASE_OPTIONS,
    run: (invocation) => withKey(invocation, showQuota),
  },
  {
    name: 'quota reset',
    summary: 'Gives a key its full quotas back and lifts its ban. A running server does so within a second.',
    operands: ['KEY_ID'],
    options: DATABASE_OPTIONS,
    run: (invocation) => withKey(invocation, requested('reset', 'has its full quotas')),
  },
  {
    name: 'ban lift',
    summary: 'Ends the ban of a key; its quotas stay as they are. A running server does so within a second.',
    operands: ['KEY_ID'],
    options: DATABASE_OPTIONS,
    run: (invocation) => withKey(invocation, requested('lift_ban', 'is not banned')),
  },
];

function withKey(invocation: Invocation, work: (opened: ProgramDatabase, key: KeyRecord) => Outcome): Promise<Outcome> {
  const [id = ''] = invocation.operands;
  return withDatabase(invocation, (opened) => {
    const key = createKeyRing(opened.database).get(id);
    return key === undefined ? failed(noSuchKey(id)) : work(opened, key);
  });
}

/** The limiter itself says what is left: loaded with the saved state, and asked without taking anything. */
function showQuota({ database }: ProgramDatabase, { id, plan }: KeyRecord): Outcome {
  const clock = createSystemClock();
  const limiter = createMemoryLimiter({ clock });
  const saved = shifted(createQuotaTable(database).get(id), -clock.utcOffsetMs());
  if (saved !== undefined) limiter.restore(id, saved);
  const { windows, verdict, nowMs, retryAfterMs, utcOffsetMs } = limiter.take(id, toPlan(plan), 0);
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

function requested(request: QuotaRequest, result: string) {
  return ({ database }: ProgramDatabase, { id }: KeyRecord): Outcome => {
    createQuotaTable(database).request(id, request);
    return done(`${id} ${result}`, { id, done: request });
  };
}
