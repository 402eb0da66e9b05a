import { FIXED_PLANS } from '../keys/key-plan.js';
import { localAddress } from '../listener/base-url.js';
import { writeText } from '../log/write-text.js';
import type { Storage } from '../storage/storage.js';
import { SAMPLE_ORDERS } from './sample-orders.js';

/**
 * Fills a new database with sample orders. With `showsKeys` it also issues a demo key per fixed plan and prints the keys
 * to stderr: they are for a person, and stdout may be a log, which never has a key in it.
 */
export async function introduce(
  { orders, keys, name }: Storage,
  { url, socket }: { readonly url: string; readonly socket: string | undefined },
  showsKeys: boolean,
): Promise<void> {
  await orders.put(SAMPLE_ORDERS);
  const isNew = `The database ${name} is new: it has ${SAMPLE_ORDERS.length} sample orders and`;
  if (!showsKeys) {
    await writeText(process.stderr, `${isNew} no API keys yet; ${ISSUE_ONE}\n`);
    return;
  }
  const issued = await Promise.all(FIXED_PLANS.map((plan) => keys.create({ name: plan }, 'demo')));
  const option = socket === undefined ? '' : `--unix-socket '${socket}' `;
  const lines = [
    `${isNew} these demo keys, which are shown only now.`,
    '',
    ...issued.map(({ plan, key }) => `  ${plan.name.padEnd(8)}  ${key}`),
    '',
    `  curl ${option}-H 'Authorization: Bearer ${issued[0]?.key}' '${localAddress(url)}/store/orders'`,
    '',
    ...(socket === undefined ? [`In a browser: ${new URL('/docs', localAddress(url)).href}`, ''] : []),
  ];
  await writeText(process.stderr, `${lines.join('\n')}\n`);
}

const ISSUE_ONE = 'issue one: store-orders keys create --plan free';

/** Advises how to get a key. A shared or older database is not filled: its owner knows who needs keys. */
export async function adviseIfKeyless({ keys, name }: Storage): Promise<void> {
  if (!(await keys.isEmpty())) return;
  await writeText(process.stderr, `${name} has no API keys yet; ${ISSUE_ONE}\n`);
}
