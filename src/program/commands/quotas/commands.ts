import { type CommandResult, done } from '../../command-result.js';
import { describePlan } from '../../keys/key-plan.js';
import type { KeyRecord } from '../../keys/key-record.js';
import type { QuotaAdmin } from '../../quotas/admin.js';
import { type Command, durationOf, type Invocation } from '../command.js';
import { DEFAULT_LIMIT, listBans, listQuotas } from './list.js';
import { isoTime, readQuota } from './quota-view.js';
import { QUOTA_OPTIONS, withKey } from './with-quotas.js';

const LIST_OPTIONS = {
  limit: { value: 'N', about: 'list at most N keys', default: `${DEFAULT_LIMIT}` },
  ...QUOTA_OPTIONS,
};

export const quotaCommands: readonly Command[] = [
  {
    name: 'quota show',
    summary: 'Shows the remaining quotas of a key and whether it is banned. The figures may be half a second old.',
    operand: 'KEY_ID',
    options: QUOTA_OPTIONS,
    examples: ['quota show key_0123456789'],
    run: (invocation) => withKey(invocation, showQuota),
  },
  {
    name: 'quota reset',
    summary: 'Restores the full quotas of a key and lifts its ban. A running server applies it within a second.',
    operand: 'KEY_ID',
    options: QUOTA_OPTIONS,
    examples: ['quota reset key_0123456789'],
    run: (invocation) => withKey(invocation, resetQuota),
  },
  {
    name: 'quota list',
    summary: 'Lists the keys nearest their limit, banned keys first. Omits keys with full quotas.',
    options: LIST_OPTIONS,
    examples: ['quota list', 'quota list --limit 100 --json'],
    run: listQuotas,
  },
];

export const banCommands: readonly Command[] = [
  {
    name: 'ban set',
    summary: 'Bans a key for a time. Its quotas do not change. A running server applies it within a second.',
    operand: 'KEY_ID',
    options: {
      for: { value: 'TIME', about: 'how long, such as 90s, 10m, 2h or 7d', isRequired: true },
      ...QUOTA_OPTIONS,
    },
    examples: ['ban set key_0123456789 --for 10m'],
    run: setBan,
  },
  {
    name: 'ban lift',
    summary: 'Lifts the ban of a key. Its quotas do not change. A running server applies it within a second.',
    operand: 'KEY_ID',
    options: QUOTA_OPTIONS,
    examples: ['ban lift key_0123456789'],
    run: (invocation) => withKey(invocation, liftBan),
  },
  {
    name: 'ban list',
    summary: 'Lists the banned keys.',
    options: LIST_OPTIONS,
    examples: ['ban list'],
    run: listBans,
  },
];

async function showQuota(admin: QuotaAdmin, key: KeyRecord): Promise<CommandResult> {
  const quota = await readQuota(admin, key);
  const { id, windows, bannedUntil } = quota;
  const rows = windows.map(
    ({ name, quota, remaining, resetAt }) =>
      `${name}: ${remaining} of ${quota} left${resetAt === null ? '' : `, full again ${resetAt}`}`,
  );
  const ban = bannedUntil === null ? 'not banned' : `banned until ${bannedUntil}`;
  return done([`${id}: ${describePlan(key.plan)}`, ...rows, ban].join('\n'), quota);
}

const LONGEST_BAN_DAYS = 365;

function setBan(invocation: Invocation): Promise<CommandResult> {
  const banMs = durationOf(invocation, 'for', LONGEST_BAN_DAYS) ?? 0;
  return withKey(invocation, async (admin, { id }) => {
    await admin.ban(id, banMs);
    const bannedUntil = isoTime(Date.now() + banMs);
    return done(`${id} is banned until ${bannedUntil} (quotas in ${admin.place})`, { id, bannedUntil });
  });
}

async function resetQuota(admin: QuotaAdmin, { id }: KeyRecord): Promise<CommandResult> {
  await admin.reset(id);
  return done(`${id} has its full quotas again (quotas in ${admin.place})`, { id, done: 'reset' });
}

async function liftBan(admin: QuotaAdmin, { id }: KeyRecord): Promise<CommandResult> {
  await admin.unban(id);
  return done(`${id} is no longer banned (quotas in ${admin.place})`, { id, done: 'lift_ban' });
}
