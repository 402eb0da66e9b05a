import type { Redis } from 'ioredis';
import { createPlan, perDay, perMinute } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { createManualClock } from 'store-orders/testing';

export const PLAN = createPlan({ name: 'plan', policies: [perMinute(2), perDay(5)], ban: { after: 2, graceMs: 0 } });

/** Creates a limiter at a time that is always the same. */
export function openLimiter(client: Redis, clock = createManualClock()) {
  return createRedisLimiter({
    send: (command) => client.call(...command),
    clock,
    deadlineMs: 10_000,
    refusalCacheMs: 0,
  });
}

/** How many requests each key has sent: counted, refused, and banned. */
export const REQUESTS = { counted: 1, refused: 4, banned: 5 } as const;

/** Writes a record of each kind. Returns each key's record, with its name and its bytes in hex. */
export async function writeRecords(client: Redis) {
  const records: Record<string, { readonly name: string; readonly bytes: string | undefined }> = {};
  for (const [key, requests] of Object.entries(REQUESTS)) {
    const others = await client.keys('*');
    const clock = createManualClock();
    const limiter = openLimiter(client, clock);
    for (let n = 0; n < requests; n++) {
      await limiter.take(key, PLAN);
      clock.advance(1);
    }
    const name = (await client.keys('*')).find((candidate) => !others.includes(candidate)) ?? '';
    records[key] = { name, bytes: (await client.getBuffer(name))?.toString('hex') };
  }
  return records;
}
