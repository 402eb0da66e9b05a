import { readSettings } from '../config/read-settings.js';
import { parseRedisUrl, type RedisAddress } from '../config/redis-url.js';
import { describePlan, toPlan } from '../keys/key-plan.js';
import type { KeyRecord } from '../keys/key-ring.js';
import { messageOf } from '../log/request-log.js';
import { type QuotaDesk, redisQuotaDesk, savedQuotaDesk } from '../quotas/admin.js';
import { connectRedis } from '../quotas/redis-client.js';
import {
  type Command,
  DATA_OPTIONS,
  done,
  failed,
  type Invocation,
  misused,
  type Outcome,
  settingOptions,
  withStorage,
} from './command.js';
import { noSuchKey } from './keys.js';

const QUOTA_OPTIONS = { ...settingOptions(['redisUrl']), ...DATA_OPTIONS };

export const quotaCommands: readonly Command[] = [
  {
    name: 'quota show',
    summary: 'Shows what a key has left, as of the last half second, and whether it is banned.',
    operands: ['KEY_ID'],
    options: QUOTA_OPTIONS,
    run: (invocation) => withKey(invocation, showQuota),
  },
  {
    name: 'quota reset',
    summary: 'Gives a key its full quotas back and lifts its ban. A running server does so within a second.',
    operands: ['KEY_ID'],
    options: QUOTA_OPTIONS,
    run: (invocation) => withKey(invocation, resetQuota),
  },
  {
    name: 'ban lift',
    summary: 'Ends the ban of a key; its quotas stay as they are. A running server does so within a second.',
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
    if (key === undefined) return failed(noSuchKey(id));
    if (redis !== undefined) return atRedis(redis, (desk) => work(desk, key));
    if (quotas !== undefined) return work(savedQuotaDesk(quotas, name), key);
    return failed(
      `${name} has no quotas in it; name the Redis server in which its servers count them, with --redis-url`,
    );
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
  return done(`${id} has its full quotas, as counted in ${desk.place}`, { id, done: 'reset' });
}

async function liftBan(desk: QuotaDesk, { id }: KeyRecord): Promise<Outcome> {
  await desk.liftBan(id);
  return done(`${id} is not banned, as counted in ${desk.place}`, { id, done: 'lift_ban' });
}
