import { messageOf } from '../../../message-of.js';
import { type CommandResult, failed } from '../../command-result.js';
import type { KeyRecord } from '../../keys/key-record.js';
import type { KeyRing } from '../../keys/key-ring.js';
import { type QuotaAdmin, redisQuotaAdmin, savedQuotaAdmin } from '../../quotas/admin.js';
import { connectRedis } from '../../quotas/redis-client.js';
import type { RedisAddress } from '../../settings/urls.js';
import { type Invocation, settingOptions } from '../command.js';
import { unknownKeyMessage } from '../keys.js';
import { STORAGE_OPTIONS, withStorage } from '../with-storage.js';

export const QUOTA_OPTIONS = { ...settingOptions(['redisUrl']), ...STORAGE_OPTIONS };

/** Runs `work` on the key that the operand names. */
export function withKey(
  invocation: Invocation,
  work: (admin: QuotaAdmin, key: KeyRecord) => CommandResult | Promise<CommandResult>,
): Promise<CommandResult> {
  return withQuotas(invocation, async (admin, keys) => {
    const key = await keys.get(invocation.operand);
    return key === undefined ? failed(unknownKeyMessage(invocation)) : work(admin, key);
  });
}

/** Runs `work` on the quotas in Redis if the settings name a server, otherwise in the SQLite file. */
export async function withQuotas(
  invocation: Invocation,
  work: (admin: QuotaAdmin, keys: KeyRing) => Promise<CommandResult>,
): Promise<CommandResult> {
  return withStorage(
    invocation,
    async ({ name, keys, quotas }, { redisUrl }) => {
      if (redisUrl === undefined) return work(savedQuotaAdmin(name, quotas), keys);
      return withRedis(redisUrl, (admin) => work(admin, keys));
    },
    { settings: ['redisUrl'] },
  );
}

async function withRedis(
  address: RedisAddress,
  work: (admin: QuotaAdmin) => Promise<CommandResult>,
): Promise<CommandResult> {
  try {
    const redis = await connectRedis(address);
    try {
      return await work(redisQuotaAdmin(redis.send, address));
    } finally {
      redis.close();
    }
  } catch (error) {
    // An error of the limiter does not contain the reason. Its `cause` does.
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return failed(`${address.name}: ${messageOf(reason)}`);
  }
}
