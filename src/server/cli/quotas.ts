import { readSettings } from '../config/read-settings.js';
import { parseRedisUrl, type RedisAddress } from '../config/redis-url.js';
import { describePlan, toPlan } from '../keys/key-plan.js';
import type { KeyRecord } from '../keys/key-ring.js';
import { messageOf } from '../log/message-of.js';
import { done, failed, misused, type Outcome } from '../outcome.js';
import { type QuotaDesk, redisQuotaDesk, savedQuotaDesk } from '../quotas/admin.js';
import { connectRedis } from '../quotas/redis-client.js';
import { type Command, type Invocation, settingOptions } from './command.js';
import { unknownKey } from './keys.js';
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
    name: 'ban lift',
    summary: 'Lifts the ban of a key. Its quotas stay as they are. A running server applies it within a second.',
    operands: ['KEY_ID'],
    options: QUOTA_OPTIONS,
    run: (invocation) => withKey(invocation, liftBan),
  },
];

type Work = (desk: QuotaDesk, key: KeyRecord) => Outcome | Promise<Outcome>;

async function withKey(invocation: Invocation, work: Work): Promise<Outcome> {
  const [id = ''] = invocation.operands;
  const read = readSettings(invocation, ['redisUrl']);
  if (!read.ok) return misused(read.mistake);
  const redis = parseRedisUrl(read.settings.redisUrl ?? '');
  return withStorage(invocation, async ({ keys, quotas, name }) => {
    const key = await keys.get(id);
    if (key === undefined) return failed(unknownKey(invocation));
    if (redis !== undefined) return atRedis(redis, (desk) => work(desk, key));
    if (quotas !== undefined) return work(savedQuotaDesk(quotas, name), key);
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
  return done(`${id} has its full quotas again, as counted in ${desk.place}`, { id, done: 'reset' });
}

async function liftBan(desk: QuotaDesk, { id }: KeyRecord): Promise<Outcome> {
  await desk.liftBan(id);
  return done(`${id} is no longer banned, as counted in ${desk.place}`, { id, done: 'lift_ban' });
}
