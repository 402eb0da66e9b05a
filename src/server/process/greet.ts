import type { OrderInput } from '../../orders/index.js';
import { FIXED_PLANS } from '../keys/key-plan.js';
import type { KeyRing } from '../keys/key-ring.js';
import { writeText } from '../log/write-text.js';
import type { ServerStorage } from '../storage/storage.js';

/** What the greeting shows, or depends on. */
export interface GreetingOptions {
  /** The base address of the server on this machine. Absent if it listens on a unix socket. */
  readonly url: string | undefined;
  /** The command line that creates a key. Absent if the keys are only in this process's memory. */
  readonly createKeyCommand: string | undefined;
  /** Whether the storage is new and gets sample orders. */
  readonly hasSample: boolean;
  /** Whether a storage with sample orders also gets demo keys, which are printed. */
  readonly showsKeys: boolean;
}

/**
 * Fills a new storage with sample orders and demo keys, and prints the keys. If there are no keys,
 * prints how to create one. On a terminal, or with demo keys, prints the address of the
 * documentation. Uses stderr, because stdout may be a log, which must never contain a key.
 */
export async function greet({ orders, keys, name }: ServerStorage, options: GreetingOptions): Promise<void> {
  const { url, createKeyCommand, hasSample, showsKeys } = options;
  const lines: string[] = [];
  if (hasSample) {
    await orders.put(SAMPLE_ORDERS);
    lines.push(`Created ${name} with ${SAMPLE_ORDERS.length} sample orders.`);
    if (showsKeys) lines.push(...(await createDemoKeys(keys, url)));
  }
  if (await keys.isEmpty()) {
    lines.push(`${name} has no API keys.${createKeyCommand === undefined ? '' : ` Create one: ${createKeyCommand}`}`);
  }
  if (url !== undefined && (process.stderr.isTTY || (hasSample && showsKeys))) {
    lines.push(`Documentation: ${new URL('/docs', url).href}`, '');
  }
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

/** The orders of a new database. One id is above 2^53, to expose a client that rounds ids. */
const SAMPLE_ORDERS: readonly OrderInput[] = [
  { id: 1, petId: 101, quantity: 1, shipDate: '2026-01-05T09:30:00Z', complete: true, status: 'shipped' },
  { id: 2, petId: 102, quantity: 2, shipDate: '2026-01-07T14:00:00Z', complete: true, status: 'shipped' },
  { id: 3, petId: 103, quantity: 1, shipDate: '2026-01-12T08:15:00+01:00', complete: true, status: 'shipped' },
  { id: 4, petId: 104, quantity: 12, shipDate: '2026-01-15T11:45:00Z', complete: true, status: 'shipped' },
  { id: 5, petId: 101, quantity: 1, shipDate: '2030-03-02T10:00:00Z', complete: false, status: 'pending' },
  { id: 6, petId: 105, quantity: 3, shipDate: '2030-03-04T16:20:00Z', complete: false, status: 'pending' },
  { id: 7, petId: 106, quantity: 1, complete: false, status: 'pending' },
  { id: 8, petId: 107, quantity: 40, shipDate: '2030-04-01T07:00:00-05:00', complete: false, status: 'pending' },
  { id: 9, petId: 102, quantity: 2, shipDate: '2030-04-11T12:00:00.500Z', complete: false, status: 'pending' },
  { id: 9007199254740993n, petId: 108, quantity: 1, complete: false, status: 'pending' },
];
