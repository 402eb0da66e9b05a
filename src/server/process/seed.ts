import { FIXED_PLANS } from '../keys/key-plan.js';
import { localAddress } from '../listener/base-url.js';
import { writeText } from '../log/write-text.js';
import type { Storage } from '../storage/storage.js';
import { SAMPLE_ORDERS } from './sample-orders.js';

/**
 * Fills a new database with sample orders and a demo key per fixed plan, and shows the keys. On stderr: they are for a
 * person, and stdout may be a log, where keys never are.
 */
export async function introduce({ orders, keys, name }: Storage, url: string): Promise<void> {
  await orders.put(SAMPLE_ORDERS);
  const issued = await Promise.all(FIXED_PLANS.map((plan) => keys.create({ name: plan }, 'demo')));
  const lines = [
    `The database ${name} is new: it has ${SAMPLE_ORDERS.length} sample orders and these demo keys, which are shown only now.`,
    '',
    ...issued.map(({ plan, key }) => `  ${plan.name.padEnd(8)}  ${key}`),
    '',
    `  curl -H 'Authorization: Bearer ${issued[0]?.key}' '${localAddress(url)}/store/orders'`,
    '',
    `In a browser: ${new URL('/docs', localAddress(url)).href}`,
    '',
  ];
  await writeText(process.stderr, `${lines.join('\n')}\n`);
}

/** A database that others share, or that was there before, is not filled: only who looks after it knows for whom. */
export async function adviseIfKeyless({ keys, name }: Storage): Promise<void> {
  if (!(await keys.isEmpty())) return;
  await writeText(process.stderr, `${name} has no API keys yet; issue one: store-orders keys create --plan free\n`);
}
