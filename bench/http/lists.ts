import { type Child, startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, printSpread, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { openReader, readFor } from './list-reader.js';

const READERS = 8;
const SLOW_READERS = 50;
const SMALL_MS = isQuick ? 20 : 1_000;
const ROUNDS = 4;
const [LONG, LONGEST] = isQuick ? [1_000, 2_000] : [100_000, 1_000_000];
const SIZES = [
  { orders: LONG, roundMs: 500 },
  { orders: LONGEST, roundMs: 1_500 },
];
const MIB = 2 ** 20;

const WAYS = [
  { name: 'raw socket that sends the same bytes', server: 'raw', coding: 'identity' },
  { name: '`node:http` that sends one cached Buffer', server: 'cached', coding: 'identity' },
  { name: '`nodeHandler`', server: 'service', coding: 'identity' },
  { name: '`nodeHandler`, gzip', server: 'service', coding: 'gzip' },
  { name: '`nodeHandler`, br', server: 'service', coding: 'br' },
  { name: '`node:http` that calls JSON.stringify for each list', server: 'stringify', coding: 'identity' },
] as const;

/** Measures lists per second over loopback. Each round measures every way of sending once. */
export async function longLists(): Promise<Table> {
  const sizes: Awaited<ReturnType<typeof listsASecond>>[] = [];
  for (const { orders, roundMs } of SIZES) sizes.push(await listsASecond(orders, roundMs));
  return {
    title: `Long lists, ${READERS} readers: lists a second, and ratio to the raw socket (least–most)`,
    head: [
      'way',
      ...SIZES.map(({ orders }) => whole(orders)).flatMap((count) => [
        `${count} orders, MB`,
        `${count}, a second`,
        `${count}, ratio`,
      ]),
    ],
    headlines: SIZES.map((_, index) => 3 + 3 * index),
    rows: WAYS.map(({ name }, index) => [name, ...sizes.flatMap((rows) => rows[index] ?? [])]),
  };
}

/** Returns the cells of each way: megabytes, lists a second, and ratio to the raw socket. */
async function listsASecond(orders: number, roundMs: number): Promise<readonly (readonly string[])[]> {
  const rates = WAYS.map((): number[] => []);
  const bytes = WAYS.map(() => 0);
  const servers = new Map<string, Child>();
  try {
    for (const { server } of WAYS) {
      if (!servers.has(server)) servers.set(server, await startServer('lists', server, String(orders)));
    }
    // The figures of the first round are not used, because the server serialises and compresses the
    // orders in that round.
    for (let round = 0; round <= rounds(ROUNDS); round++) {
      for (const [index, { server, coding }] of WAYS.entries()) {
        // With `JSON.stringify`, a list of a million orders takes seconds. One measured round is
        // enough to show how much slower that is.
        if (server === 'stringify' && orders > LONG && round > 1) continue;
        const readers = await Promise.all(
          Array.from({ length: READERS }, () => openReader(servers.get(server)?.url ?? '', { coding })),
        );
        const startMs = performance.now();
        const counts = await Promise.all(readers.map((reader) => readFor(reader, isQuick ? 1 : roundMs)));
        const seconds = (performance.now() - startMs) / 1_000;
        bytes[index] = readers[0]?.length() ?? 0;
        for (const { socket } of readers) socket.destroy();
        if (round > 0) rates[index]?.push(counts.reduce((sum, count) => sum + count, 0) / seconds);
      }
    }
  } finally {
    for (const { stop } of servers.values()) stop();
  }
  const [raw = []] = rates;
  return WAYS.map((_, index) => [
    ((bytes[index] ?? 0) / 1e6).toFixed(1),
    median(rates[index] ?? []).toFixed(1),
    ratio(rates[index] ?? [], raw),
  ]);
}

/**
 * Measures the response time of small requests in three cases. In the first case, no other client
 * sends requests. In the second case, one client downloads a million orders again and again. In the
 * third case, further clients also request these orders but do not read them.
 */
export async function besideLists(): Promise<Table> {
  const server = await startServer('lists', 'service', `${LONGEST}`);
  const rows: string[][] = [];
  try {
    const reader = await openReader(server.url);
    await readFor(reader, 1);
    const base = await figuresOf(server);
    for (const [name, slowReaders, downloads] of [
      ['no client', 0, false],
      ['one client that downloads', 0, true],
      [`one client that downloads, and ${SLOW_READERS} clients that do not read`, SLOW_READERS, true],
    ] as const) {
      const measured: number[][] = [];
      for (let round = 0; round < rounds(ROUNDS); round++) {
        const slow = await Promise.all(Array.from({ length: slowReaders }, () => openReader(server.url)));
        await figuresOf(server);
        const asked = Promise.all([askSmall(server.url, SMALL_MS), downloads ? readFor(reader, SMALL_MS) : 0]);
        for (const { socket, ask } of slow) {
          socket.pause();
          ask();
        }
        const [durationsMs, lists] = await asked;
        const { rssBytes, stalledMs } = await figuresOf(server);
        for (const { socket } of slow) socket.destroy();
        const p99Ms = durationsMs[Math.floor(durationsMs.length * 0.99)] ?? Number.NaN;
        measured.push([lists, median(durationsMs), p99Ms, stalledMs, (rssBytes - base.rssBytes) / MIB]);
      }
      const [lists = [], ...others] = (measured[0] ?? []).map((_, index) =>
        measured.map((row) => row[index] ?? Number.NaN),
      );
      rows.push([name, whole(median(lists)), ...others.map(printSpread)]);
    }
    reader.socket.destroy();
  } finally {
    server.stop();
  }
  return {
    title: `Response time of a small request, with and without downloads of ${whole(LONGEST)} serialised orders: medians of the rounds (least–most)`,
    head: [
      'other clients',
      'lists',
      'median, ms',
      'p99, ms',
      'longest stall of the event loop, ms',
      'more memory, MiB',
    ],
    headlines: [3],
    rows,
  };
}

/**
 * Tries again and again to cancel an order that does not exist, with a pause of 2 ms after each
 * response. Returns the response times in milliseconds, in ascending order.
 */
async function askSmall(url: string, ms: number): Promise<number[]> {
  const reader = await openReader(url, { target: 'DELETE /v1/store/orders/1' });
  const endMs = performance.now() + ms;
  const durationsMs: number[] = [];
  while (performance.now() < endMs) {
    const startMs = performance.now();
    await reader.read();
    durationsMs.push(performance.now() - startMs);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  reader.socket.destroy();
  return durationsMs.sort((a, b) => a - b);
}

async function figuresOf(server: Child): Promise<Figures> {
  const figures: Figures = Object(await server.ask());
  return figures;
}

interface Figures {
  readonly rssBytes: number;
  /** The longest time for which the event loop did not run, since the previous report. */
  readonly stalledMs: number;
}
