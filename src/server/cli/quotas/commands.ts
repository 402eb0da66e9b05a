import { readSettings } from '../config/read-settings.js';
import { parseRedisUrl, type RedisAddress } from '../config/redis-url.js';
import { describePlan, toPlan } from '../keys/key-plan.js';
import type { KeyRecord, KeyRing } from '../keys/key-ring.js';
import { messageOf } from '../log/message-of.js';
import { done, failed, misused, type Outcome } from '../outcome.js';
import { type QuotaDesk, redisQuotaDesk, savedQuotaDesk } from '../quotas/admin.js';
import { connectRedis } from '../quotas/redis-client.js';
import { type Command, type Invocation, settingOptions } from './command.js';
import { unknownKey } from './keys.js';
import { createTable } from './terminal.js';
import { STORAGE_OPTIONS, withStorage } from './with-storage.js';

const QUOTA_OPTIONS = { ...settingOptions(['redisUrl']), ...STORAGE_OPTIONS };

export const quotaCommands: readonly Command[] = [
  {
    name: 'quota show',
    summary: 'Shows what a key has left of its quotas, and whether it is banned. Up to half a second old.',
    operands: ['KEY_ID'],
    options: QUOTA_OPTIONS,
    run: (invocation) => withKey(invocation, showQuota),
  },
  {
    name: 'quota reset',
    summary: 'Gives a key its full quotas back and lifts its ban. A running server applies it within a second.',
    operands: ['KEY_ID'],
    options: QUOTA_OPTIONS,
    run: (invocation) => withKey(invocation, resetQuota),
  },
  {
    name: 'quota list',
    summary: 'Lists the keys that are banned or have used some of a quota, those nearest their limit first.',
    operands: [],
    options: { limit: { value: 'N', about: 'most keys to list [default: 20]' }, ...QUOTA_OPTIONS },
    examples: ['quota list', 'quota list --limit 100 --json'],
    run: listQuotas,
  },
];

export const banCommands: readonly Command[] = [
  {
    name: 'ban set',
    summary: 'Bans a key for a time. Its quotas stay as they are. A running server applies it within a second.',
    operands: ['KEY_ID'],
    options: { for: { value: 'TIME', about: 'such as 90s, 10m, 2h or 7d', isRequired: true }, ...QUOTA_OPTIONS },
    examples: ['ban set key_0123456789 --for 10m'],
    run: setBan,
  },
  {
    name: 'ban lift',
    summary: 'Lifts the ban of a key. Its quotas stay as they are. A running server applies it within a second.',
    operands: ['KEY_ID'],
    options: QUOTA_OPTIONS,
    run: (invocation) => withKey(invocation, liftBan),
  },
];

type Work = (desk: QuotaDesk, key: KeyRecord) => Outcome | Promise<Outcome>;

function withKey(invocation: Invocation, work: Work): Promise<Outcome> {
  const [id = ''] = invocation.operands;
  return withDesk(invocation, async (desk, keys) => {
    const key = await keys.get(id);
    return key === undefined ? failed(unknownKey(invocation)) : work(desk, key);
  });
}

async function withDesk(
  invocation: Invocation,
  work: (desk: QuotaDesk, keys: KeyRing) => Promise<Outcome>,
): Promise<Outcome> {
  const read = readSettings(invocation, ['redisUrl']);
  if (!read.ok) return misused(read.mistake);
  const redis = parseRedisUrl(read.settings.redisUrl ?? '');
  return withStorage(invocation, async ({ keys, quotas, name }) => {
    if (redis !== undefined) return atRedis(redis, (desk) => work(desk, keys));
    if (quotas !== undefined) return work(savedQuotaDesk(quotas, name), keys);
    return failed(`${name} has no quotas in it; name the Redis server that counts them with --redis-url`);
  });
}

async function atRedis(address: RedisAddress, work: (desk: QuotaDesk) => Outcome | Promise<Outcome>): Promise<Outcome> {
  try {
    const redis = await connectRedis(address);
    try {
      await redis.arrived();
      return await work(redisQuotaDesk(redis, address.name));
    } finally {
      redis.close();
    }
  } catch (error) {
    // The limiter says only that it cannot count, and why as the cause.
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return failed(`${address.name}: ${messageOf(reason)}`);
  }
}

/** What a key has left, as scripts see it. */
interface ShownQuota {
  readonly id: string;
  readonly plan: string;
  readonly windows: readonly ShownWindow[];
  readonly bannedUntil: string | null;
}

interface ShownWindow {
  readonly name: string;
  readonly quota: number;
  readonly remaining: number;
  readonly resetAt: string | null;
}

async function readQuota(desk: QuotaDesk, { id, plan }: KeyRecord): Promise<ShownQuota> {
  const { windows, verdict, nowMs, retryAfterMs, utcOffsetMs } = await desk.peek(id, toPlan(plan));
  return {
    id,
    plan: plan.name,
    windows: windows.map(({ policy, remaining, resetAtMs }) => ({
      name: policy.name,
      quota: policy.quota,
      remaining,
      resetAt: remaining === policy.quota ? null : isoTime(resetAtMs + utcOffsetMs),
    })),
    bannedUntil: verdict === 'banned' ? isoTime(nowMs + retryAfterMs + utcOffsetMs) : null,
  };
}

async function showQuota(desk: QuotaDesk, key: KeyRecord): Promise<Outcome> {
  const quota = await readQuota(desk, key);
  const { id, windows, bannedUntil } = quota;
  const rows = windows.map(
    ({ name, quota, remaining, resetAt }) =>
      `${name}: ${remaining} of ${quota} left${resetAt === null ? '' : `, full again ${resetAt}`}`,
  );
  const ban = bannedUntil === null ? 'not banned' : `banned until ${bannedUntil}`;
  return done([`${id}: ${describePlan(key.plan)}`, ...rows, ban].join('\n'), quota);
}

/** Keys that are asked for at the same time. */
const AT_ONCE = 100;

function listQuotas(invocation: Invocation): Outcome | Promise<Outcome> {
  const limit = invocation.flags.get('limit') ?? '20';
  if (!/^[1-9][0-9]{0,8}$/.test(`${limit}`)) {
    return misused(`--limit: expected a whole number from 1 up, not ${JSON.stringify(limit)}`);
  }
  return withDesk(invocation, async (desk, ring) => {
    const keys = (await ring.list()).filter(({ revokedAt }) => revokedAt === undefined);
    const quotas: ShownQuota[] = [];
    for (let i = 0; i < keys.length; i += AT_ONCE) {
      quotas.push(...(await Promise.all(keys.slice(i, i + AT_ONCE).map((key) => readQuota(desk, key)))));
    }
    const used = quotas.filter((quota) => leftOf(quota) < 1);
    const nearest = used.sort((a, b) => leftOf(a) - leftOf(b)).slice(0, Number(limit));
    if (nearest.length === 0) return done('no key has used any of its quotas', []);
    const namesById = new Map(keys.map(({ id, name }) => [id, name === undefined ? '' : JSON.stringify(name)]));
    const table = createTable(process.stdout, [
      { title: 'KEY' },
      { title: 'PLAN' },
      { title: 'LEFT', isNumber: true, style: (cell) => (cell.startsWith('0 ') ? 'red' : undefined) },
      { title: 'FULL AGAIN' },
      { title: 'BANNED UNTIL', style: () => 'red' },
      { title: 'NAME' },
    ]);
    const rows = nearest.map((quota) => {
      const { name, quota: most, remaining, resetAt } = scarcestOf(quota);
      const left = `${remaining} of ${most} per ${name}`;
      return [quota.id, quota.plan, left, resetAt ?? '', quota.bannedUntil ?? '', namesById.get(quota.id) ?? ''];
    });
    return done(table(rows).join('\n'), nearest);
  });
}

/** The window with the smallest part left. A plan has at least one. */
function scarcestOf({ windows }: ShownQuota): ShownWindow {
  return windows.reduce((a, b) => (b.remaining / b.quota < a.remaining / a.quota ? b : a));
}

/** The part that is left, below 0 for a ban. */
function leftOf(quota: ShownQuota): number {
  const { remaining, quota: most } = scarcestOf(quota);
  return quota.bannedUntil === null ? remaining / most : -1;
}

const UNIT_MS = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);
const LONGEST_BAN_MS = 365 * 86_400_000;

function setBan(invocation: Invocation): Outcome | Promise<Outcome> {
  const time = String(invocation.flags.get('for'));
  const [, count, unit = ''] = /^([1-9][0-9]{0,8})([smhd])$/.exec(time) ?? [];
  const ms = Number(count) * (UNIT_MS.get(unit) ?? Number.NaN);
  if (!(ms <= LONGEST_BAN_MS)) {
    return misused(`--for: expected a time up to 365d, such as 90s, 10m, 2h or 7d, not ${JSON.stringify(time)}`);
  }
  return withKey(invocation, async (desk, { id }) => {
    await desk.ban(id, ms);
    const bannedUntil = isoTime(Date.now() + ms);
    return done(`${id} is banned until ${bannedUntil}, as counted in ${desk.place}`, { id, bannedUntil });
  });
}

function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString();
}

async function resetQuota(desk: QuotaDesk, { id }: KeyRecord): Promise<Outcome> {
  await desk.reset(id);
  return done(`${id} has its full quotas again, as counted in ${desk.place}`, { id, done: 'reset' });
}

async function liftBan(desk: QuotaDesk, { id }: KeyRecord): Promise<Outcome> {
  await desk.liftBan(id);
  return done(`${id} is no longer banned, as counted in ${desk.place}`, { id, done: 'lift_ban' });
}
