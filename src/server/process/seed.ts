import { FIXED_PLANS } from '../keys/key-plan.js';
import { localAddress } from '../listener/base-url.js';
import { writeText } from '../log/write-text.js';
import type { ServerStorage } from '../storage/storage.js';
import { SAMPLE_ORDERS } from './sample-orders.js';

/** The addresses and commands that a person needs next. */
export interface Guide {
  /** The base address of the server. */
  readonly url: string;
  /** The unix socket on which the server listens instead of a port. */
  readonly socket?: string;
  /** The command line that creates a key. Absent if the keys are only in this process's memory. */
  readonly createKey?: string;
}

/**
 * The name of curl in a shell. In Windows PowerShell, `curl` is another command, and `curl.exe`
 * works there and in cmd.exe.
 */
const CURL = process.platform === 'win32' ? 'curl.exe' : 'curl';

/**
 * Fills a new database with sample orders. With `showsKeys` it also issues a demo key for each
 * fixed plan, and prints the keys to stderr. Stdout may be a log, which must never contain a key.
 */
export async function seedAndGreet(
  { orders, keys, name }: ServerStorage,
  guide: Guide,
  showsKeys: boolean,
): Promise<void> {
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
    // The commands use double quotes, because cmd.exe supports no other quotes.
    `  ${CURL} ${authorization} "${list}"`,
    `  ${CURL} -i -X DELETE ${authorization} "${list}/${pending}"`,
    '',
    ...nextSteps(guide),
  ]);
}

/**
 * Prints how to create the first key if an existing database has no keys. On a terminal it also
 * prints the address of the documentation and how to create another key.
 */
export async function showNextSteps({ keys, name }: ServerStorage, guide: Guide): Promise<void> {
  const isKeyless = await keys.isEmpty();
  await say([
    ...(isKeyless ? [`${name} has no API keys.${firstKey(guide)}`] : []),
    ...(process.stderr.isTTY ? nextSteps(guide) : []),
  ]);
}

function firstKey({ createKey }: Guide): string {
  return createKey === undefined ? '' : ` Create one: ${createKey}`;
}

function nextSteps({ url, socket, createKey }: Guide): readonly string[] {
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
