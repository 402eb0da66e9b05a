import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Child, startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, printSpread, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import type { Turns } from '../servers/turns.js';
import { openReader, type Reader } from './list-reader.js';

const ORDERS = isQuick ? 2_000 : 1_000_000;
const SECOND_MS = isQuick ? 50 : 1_000;
/**
 * How many lists a round requests, one a second. For comparison, the round also measures the same
 * number of seconds without a list.
 */
const SECONDS = 2;
const ROUNDS = 3;
const AIM_MS = 5;
const AIM_TURN_MS = 25;

const GET = { target: 'GET /v1/store/orders', coding: 'identity', isConditional: false };
const HEAD = { ...GET, target: 'HEAD /v1/store/orders' };
const GZIP = { ...GET, coding: 'gzip' };
const CONDITIONAL = { ...GET, isConditional: true };

const WAYS = [
  { name: 'raw socket that sends the same batches', server: 'raw', kind: '', request: GET },
  { name: 'memory', server: 'memory', kind: 'cancelled', request: GET },
  { name: 'memory', server: 'memory', kind: 'cancelled', request: CONDITIONAL },
  { name: 'memory', server: 'memory', kind: 'replaced', request: GET },
  { name: 'memory', server: 'memory', kind: 'replaced', request: HEAD },
  { name: 'memory', server: 'memory', kind: 'replaced', request: GZIP },
  { name: 'SQLite', server: 'sqlite', kind: 'cancelled', request: GET },
  { name: 'SQLite', server: 'sqlite', kind: 'cancelled', request: CONDITIONAL },
  { name: 'SQLite', server: 'sqlite', kind: 'replaced', request: GET },
  { name: 'SQLite', server: 'sqlite', kind: 'replaced', request: HEAD },
] as const;

type Way = (typeof WAYS)[number];

interface Measured extends Turns {
  /** The processor time of all threads of the server. */
  readonly allMs: number;
}

/**
 * Measures how much processor time a list costs while the server changes a hundred orders a second.
 * The result is the time used in a second with one list, minus the time used in a second without
 * one.
 */
export async function changingList(): Promise<Table> {
  const directory = mkdtempSync(join(tmpdir(), 'store-orders-bench-'));
  const servers = new Map<string, Child>();
  const measured = new Map(WAYS.map((way): [Way, Measured[]] => [way, []]));
  try {
    for (const { server } of WAYS) {
      if (servers.has(server)) continue;
      servers.set(server, await startServer('changing-list', server, `${ORDERS}`, join(directory, 'orders.db')));
    }
    for (let round = 0; round < rounds(ROUNDS); round++) {
      for (const way of WAYS) {
        const server = servers.get(way.server);
        if (server === undefined) continue;
        measured.get(way)?.push(await measure(way, server));
      }
    }
  } finally {
    for (const { stop } of servers.values()) stop();
    rmSync(directory, { recursive: true, force: true });
  }
  const floorMs = median((measured.get(WAYS[0]) ?? []).map(({ usedMs }) => usedMs));
  return {
    title: `A client lists ${whole(ORDERS)} orders once a second, while 100 of the orders change each second: processor time per list in ms (least–most). Aim: at most ${AIM_MS} ms more than a raw socket needs to send the list, and at most ${AIM_TURN_MS} ms in one pass of the event loop`,
    head: [
      'store',
      'changes',
      'request',
      'event loop',
      'more than sending',
      'all threads',
      'longest pass of the event loop',
      'stalled, ms',
    ],
    rows: WAYS.map((way) => {
      const all = measured.get(way) ?? [];
      const used = all.map(({ usedMs }) => usedMs);
      const sendingMs = way.request === GET ? floorMs : 0;
      return [
        way.name,
        KINDS[way.kind],
        nameOf(way),
        printSpread(used),
        way.request === GZIP ? '' : (median(used) - sendingMs).toFixed(1),
        median(all.map(({ allMs }) => allMs)).toFixed(1),
        printSpread(all.map(({ busyMs }) => busyMs)),
        median(all.map(({ stalledMs }) => stalledMs)).toFixed(1),
      ];
    }),
  };
}

const KINDS = { '': 'none', cancelled: 'cancelled or shipped', replaced: 'replaced' } as const;

function nameOf({ request }: Way): string {
  if (request === GZIP) return 'GET, gzip';
  if (request === CONDITIONAL) return 'GET, `If-None-Match`: 304';
  return request === HEAD ? 'HEAD' : 'GET';
}

async function openReaderFor({ request }: Way, { url }: Child): Promise<Reader> {
  const first = await openReader(url, HEAD);
  if (request.isConditional) await first.read();
  first.socket.destroy();
  const tag = /ETag: (".*?")/i.exec(first.head())?.[1];
  return openReader(url, { ...request, ...(request.isConditional && { fields: `If-None-Match: ${tag}\r\n` }) });
}

async function measure(way: Way, server: Child): Promise<Measured> {
  const { kind } = way;
  const reader = await openReaderFor(way, server);
  // The first lists are not measured, because the server serialises and compresses all orders for
  // them.
  for (let n = 0; n < (isQuick ? 1 : 3); n++) await reader.read();
  await server.ask(kind);
  await wait(SECOND_MS);
  await reader.read();
  const listed = await used(kind, server, async () => {
    for (let n = 0; n < SECONDS; n++) {
      await wait(SECOND_MS);
      await reader.read();
    }
  });
  const idle = await used(kind, server, () => wait(SECONDS * SECOND_MS));
  await server.ask('');
  reader.socket.destroy();
  return {
    ...listed,
    usedMs: (listed.usedMs - idle.usedMs) / SECONDS,
    allMs: (listed.allMs - idle.allMs) / SECONDS,
  };
}

async function used(kind: string, server: Child, run: () => Promise<unknown>): Promise<Measured> {
  await server.ask(kind);
  const beforeUs = server.cpuUs();
  await run();
  const turns: Turns = Object(await server.ask(kind));
  return { ...turns, allMs: (server.cpuUs() - beforeUs) / 1_000 };
}
