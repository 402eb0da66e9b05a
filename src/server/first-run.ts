import { localAddress } from './base-address.js';
import type { ProgramDatabase } from './database.js';
import { FIXED_PLANS } from './key-plan.js';
import type { KeyRing } from './key-ring.js';
import { SAMPLE_ORDERS } from './samples.js';
import { writeText } from './write-text.js';

/**
 * Fills a new database with sample orders and a demo key per fixed plan, and shows the keys. On stderr: they are for a
 * person, and stdout may be a log, where keys never are.
 */
export async function introduce({ orders, file }: ProgramDatabase, ring: KeyRing, url: string): Promise<void> {
  await orders.put(SAMPLE_ORDERS);
  const issued = FIXED_PLANS.map((name) => ring.create({ name }, 'demo'));
  const lines = [
    `The database ${file} is new: it has ${SAMPLE_ORDERS.length} sample orders and these demo keys, which are shown only now.`,
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
