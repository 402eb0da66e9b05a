import { ask, CANCEL, LIST, MISS } from '../load/load.js';
import { type Child, startServer } from '../processes/child.js';
import { median, printSpread, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { type Measured, measureBesideBare } from './beside-bare.js';

const RIVAL = './rivals/fastify-sqlite.mjs';
const SERVERS = [
  { name: 'bare node:http, which stores nothing', server: ['bare'] },
  { name: 'store-orders serve', server: ['bundled', 'serve'] },
  { name: 'Fastify, pino, SQLite, rate-limiter-flexible', server: ['bundled', RIVAL] },
  { name: 'store-orders serve --log events', server: ['bundled', 'serve', '--log', 'events'] },
  { name: 'the same Fastify, without a log', server: ['bundled', RIVAL, '--log', 'none'] },
] as const;
/** Which servers a row `ahead` compares, by their places in `SERVERS`. */
const COMPARED = [
  { name: 'ahead, with a line for each request', ours: 1, theirs: 2 },
  { name: 'ahead, without', ours: 3, theirs: 4 },
];
const CONNECTIONS = 64;
const ROUNDS = 5;

/**
 * Measures the program as it ships, over its SQLite file, beside what a careful team writes for one
 * machine.
 */
export async function program(): Promise<Table> {
  const children = await Promise.all(SERVERS.map(({ server: [name, ...options] }) => startServer(name, ...options)));
  const [bare, ...others] = children;
  if (bare === undefined) throw new TypeError('expected servers');
  try {
    await checkAnswers(others);
    const rows: string[][] = [];
    for (const request of [LIST, MISS, CANCEL]) {
      const measured = await measureBesideBare(bare, others, { request, connections: CONNECTIONS, count: ROUNDS });
      rows.push(...toRows(request.name, measured));
    }
    return {
      title: `The program over its SQLite file, ${CONNECTIONS} keep-alive connections`,
      head: [
        'request',
        'server',
        'a second',
        'µs of processor time per request',
        'ratio to bare by processor time (least–most)',
      ],
      headlines: [2, 3, 4],
      rows,
    };
  } finally {
    for (const { stop } of children) stop();
  }
}

function toRows(request: string, measured: readonly Measured[]): readonly string[][] {
  const servers = measured.map(({ rates, usedUs, cpuRatios }, index) => [
    request,
    SERVERS[index]?.name ?? '',
    whole(median(rates)),
    median(usedUs).toFixed(1),
    printSpread(cpuRatios),
  ]);
  const compared = COMPARED.map(({ name, ours, theirs }) => {
    const [mine, other] = [measured[ours], measured[theirs]];
    return [
      request,
      name,
      ratio(mine?.rates ?? [], other?.rates ?? []),
      ratio(other?.usedUs ?? [], mine?.usedUs ?? []),
      '',
    ];
  });
  return [...servers, ...compared];
}

/** Checks that all programs list the same orders, and that none reads `1e0` as an order id. */
async function checkAnswers(programs: readonly Child[]): Promise<void> {
  const answersTo = (request: typeof LIST) => Promise.all(programs.map((child) => ask(child, request)));
  const lists = new Set((await answersTo(LIST)).map((answer) => answer.split('\r\n\r\n')[1]));
  if (lists.size !== 1) throw new Error(`the programs sent different lists:\n${[...lists].join('\n')}`);
  const inexact = { ...MISS, path: '/v1/store/orders/1e0' };
  for (const answer of await answersTo(inexact)) {
    if (!answer.includes('"invalid_order_id"')) throw new Error(`${inexact.path}: not refused\n${answer}`);
  }
}
