import { FIXED_PLANS } from '../keys/key-plan.js';
import type { KeyRing } from '../keys/key-ring.js';
import type { ServerStorage } from '../storage/storage.js';
import { writeText } from '../write-text.js';
import { SAMPLE_ORDERS } from './sample-orders.js';

/** What the greeting shows, or depends on. */
export interface GreetingOptions {
  /**
   * The address of the server without the base path: the public one if it is known, otherwise that
   * on this machine. Absent if it listens on a unix socket.
   */
  readonly address: string | undefined;
  readonly basePath: string;
  /** The command line that creates a key. Absent if the keys are only in this process's memory. */
  readonly createKeyCommand: string | undefined;
  /** Whether the storage is new and gets sample orders. */
  readonly hasSample: boolean;
  /** Whether a storage with sample orders also gets demo keys, which are printed. */
  readonly showsKeys: boolean;
}

/**
 * Fills a new storage with sample orders and demo keys, and prints the keys. If there are no keys,
 * prints how to create one. With demo keys, prints the address of the documentation, which the log
 * has at every start. Uses stderr, because stdout may be a log, which must never contain a key.
 */
export async function greet({ orders, keys, name }: ServerStorage, options: GreetingOptions): Promise<void> {
  const { address, basePath, createKeyCommand, hasSample, showsKeys } = options;
  const lines: string[] = [];
  if (hasSample) {
    await orders.put(SAMPLE_ORDERS);
    lines.push(`Created ${name} with ${SAMPLE_ORDERS.length} sample orders.`);
    if (showsKeys) lines.push(...(await createDemoKeys(keys, address && address + basePath)));
  }
  if (await keys.isEmpty()) {
    lines.push(`${name} has no API keys.${createKeyCommand === undefined ? '' : ` Create one: ${createKeyCommand}`}`);
  }
  if (address !== undefined && hasSample && showsKeys) lines.push(`Documentation: ${address}/docs`, '');
  await writeText(process.stderr, lines.map((line) => `${line}\n`).join(''));
}

async function createDemoKeys(keys: KeyRing, url: string | undefined): Promise<readonly string[]> {
  const issued = await Promise.all(FIXED_PLANS.map((plan) => keys.create({ name: plan }, { name: 'demo' })));
  const shown = issued.map(({ plan, key }) => `  ${plan.name.padEnd(8)}  ${key}`);
  const lines = ['Demo keys, which are not shown again:', '', ...shown, ''];
  if (url === undefined) return lines;
  // cmd.exe accepts only double quotes.
  const authorization = `-H "Authorization: Bearer ${issued[0]?.key}"`;
  const list = `${url}/store/orders`;
  const pendingId = SAMPLE_ORDERS.findLast(({ status }) => status === 'pending')?.id;
  return [
    ...lines,
    'List the orders, and cancel one:',
    '',
    `  curl ${authorization} "${list}"`,
    `  curl -i -X DELETE ${authorization} "${list}/${pendingId}"`,
    '',
  ];
}
