import { FIXED_PLANS } from '../keys/key-plan.js';
import { localAddress } from '../listener/base-url.js';
import { writeText } from '../log/write-text.js';
import type { Storage } from '../storage/storage.js';
import { SAMPLE_ORDERS } from './sample-orders.js';

/** The addresses and commands that a person needs next. */
export interface Guide {
  /** The base address of the server. */
  readonly url: string;
  /** The unix socket on which the server listens instead of a port. */
  readonly socket?: string;
  /** The command line that creates a key. Absent if only this process has the keys, in memory. */
  readonly createKey?: string;
}

/** On Windows, this name works in cmd.exe and in PowerShell, where `curl` is another command. */
const CURL = process.platform === 'win32' ? 'curl.exe' : 'curl';

/**
 * Fills a new database with sample orders. With `showsKeys` it also issues a demo key per fixed
 * plan and prints the keys to stderr. They are for a person, and stdout may be a log, which must
 * never contain a key.
 */
export async function introduce({ orders, keys, name }: Storage, guide: Guide, showsKeys: boolean): Promise<void> {
  await orders.put(SAMPLE_ORDERS);
  const created = `Created ${name} with ${SAMPLE_ORDERS.length} sample orders`;
  if (!showsKeys) return say([`${created} and no API keys.${firstKey(guide)}`]);
  const issued = await Promise.all(FIXED_PLANS.map((plan) => keys.create({ name: plan }, 'demo')));
  const list = `${localAddress(guide.url)}/store/orders`;
  const pending = SAMPLE_ORDERS.findLast(({ status }) => status === 'pending')?.id;
  const place = guide.socket === undefined ? '' : `--unix-socket "${guide.socket}" `;
  const authorization = `${place}-H "Authorization: Bearer ${issued[0]?.key}"`;
  return say([
    `${created} and three demo keys. The keys are not shown again:`,
    '',
    ...issued.map(({ plan, key }) => `  ${plan.name.padEnd(8)}  ${key}`),
    '',
    'List the orders, and cancel one:',
    '',
    // Double quotes, because cmd.exe supports no others.
    `  ${CURL} ${authorization} "${list}"`,
    `  ${CURL} -i -X DELETE ${authorization} "${list}/${pending}"`,
    '',
    ...whereNext(guide),
  ]);
}

/**
 * Prints how to create the first key and, on a terminal, the addresses of everything. Does not fill
 * an existing database.
 */
export async function guideOn({ keys, name }: Storage, guide: Guide): Promise<void> {
  const isKeyless = await keys.isEmpty();
  await say([
    ...(isKeyless ? [`${name} has no API keys.${firstKey(guide)}`] : []),
    ...(process.stderr.isTTY ? whereNext(guide) : []),
  ]);
}

function firstKey({ createKey }: Guide): string {
  return createKey === undefined ? '' : ` Create one: ${createKey}`;
}

function whereNext({ url, socket, createKey }: Guide): readonly string[] {
  return [
    // Browsers cannot open a unix socket.
    ...(socket === undefined ? [`Documentation: ${new URL('/docs', localAddress(url)).href}`] : []),
    ...(createKey === undefined ? [] : [`Another key: ${createKey}`]),
    '',
  ];
}

async function say(lines: readonly string[]): Promise<void> {
  await writeText(process.stderr, lines.map((line) => `${line}\n`).join(''));
}
