import { join } from 'node:path';
import { temporaryDirectory } from '../../test/support/temporary-file.js';
import { startClient } from '../load/clients.js';
import { type Child, startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { fillFile, ORDERS } from './orders-file.js';

const HALF = ORDERS / 2;
/**
 * The distance between the ids of two successive cancels. It is large, so that the two orders are
 * on different pages of the table. It has no common factor with `HALF`, so that no id repeats.
 */
const STRIDE = 271_829;
const CONNECTIONS = 64;
const ROUNDS = 4;
const ROUND_MS = isQuick ? 20 : 1_000;
const PACE = 1_000;

/**
 * The orders to cancel. `recent`: orders that are neighbours, as the newest orders of a real table
 * are. They come from the first half of the table. `anywhere`: orders scattered over the second
 * half.
 */
const WORKLOADS = {
  recent: { offset: 2, stride: 1, range: HALF - 2 },
  anywhere: { offset: HALF, stride: STRIDE, range: HALF },
};

interface Way {
  readonly name: string;
  readonly server: 'one by one' | 'together' | 'bare';
  readonly workload: keyof typeof WORKLOADS;
  readonly perSecond: number;
}

/**
 * The servers to measure, in two groups: first at full speed, then at `PACE` cancels a second. Each
 * group begins with a bare server, which responds with 204 and stores nothing.
 */
const LOADS: readonly (readonly Way[])[] = [
  [
    { name: 'bare node:http, which stores nothing', server: 'bare', workload: 'recent', perSecond: 0 },
    { name: 'recent orders, one transaction each', server: 'one by one', workload: 'recent', perSecond: 0 },
    { name: 'recent orders, committed together', server: 'together', workload: 'recent', perSecond: 0 },
    { name: 'scattered orders, one transaction each', server: 'one by one', workload: 'anywhere', perSecond: 0 },
    { name: 'scattered orders, committed together', server: 'together', workload: 'anywhere', perSecond: 0 },
  ],
  [
    { name: `${whole(PACE)} a second: bare node:http`, server: 'bare', workload: 'recent', perSecond: PACE },
    {
      name: `${whole(PACE)} a second: recent orders, one transaction each`,
      server: 'one by one',
      workload: 'recent',
      perSecond: PACE,
    },
    {
      name: `${whole(PACE)} a second: recent orders, committed together`,
      server: 'together',
      workload: 'recent',
      perSecond: PACE,
    },
  ],
];

/**
 * Measures the rate of durable cancels over HTTP, and the response time of a list meanwhile. Each
 * round measures every server once.
 */
export async function cancelsOverHttp(): Promise<Table> {
  const directory = temporaryDirectory();
  const [canceller, lister] = [startClient(), startClient()];
  const servers = new Map<Way['server'], Child & { cancelled: number }>();
  try {
    for (const way of ['one by one', 'together'] as const) {
      const file = join(directory, `${way}.db`);
      await fillFile(file);
      servers.set(way, { ...(await startServer('cancels', way, file)), cancelled: 0 });
    }
    servers.set('bare', { ...(await startServer('bare')), cancelled: 0 });
    const rows: string[][] = [];
    for (const ways of LOADS) {
      const measured = ways.map(() => ({ rates: [] as number[], idleMs: [] as number[], busyMs: [] as number[] }));
      // The first round is a warm-up. Its figures are not used.
      for (let round = isQuick ? 1 : 0; round <= rounds(ROUNDS); round++) {
        for (const [index, way] of ways.entries()) {
          const { rate, idleMs, busyMs } = await measure(way);
          if (round === 0) continue;
          measured[index]?.rates.push(rate);
          measured[index]?.idleMs.push(idleMs);
          measured[index]?.busyMs.push(busyMs);
        }
      }
      const [control, usual] = measured;
      rows.push(
        ...measured.map(({ rates, idleMs, busyMs }, index) => [
          ways[index]?.name ?? '',
          whole(median(rates)),
          ratio(rates, usual?.rates ?? []),
          median(idleMs).toFixed(2),
          median(busyMs).toFixed(2),
          ratio(busyMs, idleMs),
          ratio(busyMs, control?.busyMs ?? []),
        ]),
      );
    }
    return {
      title: `Durable cancels over loopback, ${CONNECTIONS} connections, and the p99 response time of a list of ten orders in ms`,
      head: [
        'cancelled',
        'a second',
        'ratio to one transaction each',
        'list before the cancels',
        'list during the cancels',
        'ratio of during to before',
        'list during the cancels, ratio to bare',
      ],
      headlines: [2],
      rows,
    };
  } finally {
    for (const { stop } of [canceller, lister, ...servers.values()]) stop();
  }

  async function measure({ server: name, workload, perSecond }: Way) {
    const server = servers.get(name);
    if (server === undefined) throw new TypeError(`${name}: no server`);
    const { url, cancelled: fromIndex } = server;
    const idle = await lister.run({ what: 'list', url, ms: ROUND_MS / 2 });
    const cancel = { what: 'cancel', url, ms: ROUND_MS, connections: CONNECTIONS, fromIndex, perSecond } as const;
    const [cancels, busy] = await Promise.all([
      canceller.run({ ...cancel, ...WORKLOADS[workload] }),
      lister.run({ what: 'list', url, ms: ROUND_MS }),
    ]);
    server.cancelled += cancels.length;
    // The last cancel of each connection does not count, because it finished after the round.
    return { rate: (cancels.length - CONNECTIONS) / (ROUND_MS / 1_000), idleMs: p99(idle), busyMs: p99(busy) };
  }
}

function p99(ascending: readonly number[]): number {
  return ascending[Math.floor(ascending.length * 0.99)] ?? Number.NaN;
}
