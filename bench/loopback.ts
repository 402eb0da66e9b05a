import type { Point } from './chart.js';
import { type Child, startServer } from './child.js';
import { ask, CANCEL, LIST, type LoadRequest, load, MISS } from './load.js';
import { isQuick, rounds } from './pace.js';
import { median, printSpread, type Table, whole } from './table.js';

interface Subject {
  readonly name: string;
  readonly server: readonly [name: string, ...parameters: string[]];
  readonly role?: Point['role'];
}

const BARE: Subject = { name: 'bare node:http', server: ['bare'], role: 'floor' };
const SUBJECTS: readonly Subject[] = [
  { name: 'raw socket', server: ['raw'], role: 'floor' },
  { name: 'store-orders, nodeHandler', server: ['handler'], role: 'ours' },
  { name: 'store-orders serve --log events', server: ['bundled', 'events'], role: 'ours' },
  { name: 'store-orders serve', server: ['bundled', 'requests'], role: 'ours' },
  { name: 'node:http, rate-limiter-flexible', server: ['flexible'] },
  { name: 'Fastify 5', server: ['fastify'] },
  { name: 'Hono on node-server', server: ['hono'] },
  { name: 'h3', server: ['h3'] },
  { name: 'Koa', server: ['koa'] },
  { name: 'Express 5', server: ['express'] },
];
const CONNECTIONS = 32;
const WARM_UP_SECONDS = 3;
/** How many servers take their turn between two of the bare one. */
const GROUP = 3;

interface Measured extends Subject {
  readonly child: Child;
  readonly rates: number[];
  /** To the bare server just before and just after. */
  readonly ratios: number[];
}

/** Requests per second over loopback, the whole job of each server beside a bare one that answers the same bytes. */
export async function loopback(): Promise<readonly Table[]> {
  const children = await Promise.all([BARE, ...SUBJECTS].map(({ server }) => startServer(...server)));
  try {
    const tables: Table[] = [];
    const points: Point[] = [];
    for (const [request, count] of [
      [LIST, 5],
      [MISS, 3],
      [CANCEL, 3],
    ] as const) {
      const measured = await measure(children, request, rounds(count));
      tables.push(await toTable(measured, request));
      points.push(
        ...measured.map(({ name, role, ratios: values }) => ({ series: name, role, x: request.name, values })),
      );
    }
    const chart = {
      name: 'loopback',
      title: `Requests a second over loopback, to a bare node:http server`,
      kind: 'bars',
      y: 'requests a second, bare node:http = 1',
      rule: 1,
      points,
    } as const;
    return tables.map((table, index) => (index === 0 ? { ...table, chart } : table));
  } finally {
    for (const { stop } of children) stop();
  }
}

async function measure(children: readonly Child[], request: LoadRequest, count: number): Promise<readonly Measured[]> {
  const [bare, ...others] = children.map((child, index): Measured => {
    const subject = [BARE, ...SUBJECTS][index] ?? BARE;
    return { ...subject, child, rates: [], ratios: [] };
  });
  if (bare === undefined) throw new TypeError('expected servers');
  await refill(children, request);
  const slice = (server: Child, seconds = 1) => load({ server, request, connections: CONNECTIONS, seconds });
  if (!isQuick) await Promise.all(children.map((server) => slice(server, WARM_UP_SECONDS)));
  for (let round = 0; round < count; round++) {
    await refill(children, request);
    let before = await slice(bare.child);
    for (let from = 0; from < others.length; from += GROUP) {
      const group = others.slice(from, from + GROUP);
      for (const { child, rates } of group) rates.push(await slice(child));
      const after = await slice(bare.child);
      bare.rates.push(before);
      for (const { rates, ratios } of group) ratios.push((rates.at(-1) ?? 0) / ((before + after) / 2));
      before = after;
    }
    bare.ratios.push(1);
  }
  return [bare, ...others];
}

async function refill(children: readonly Child[], request: LoadRequest): Promise<void> {
  if (request === CANCEL) await Promise.all(children.map((child) => child.refill()));
}

async function toTable(measured: readonly Measured[], request: LoadRequest): Promise<Table> {
  const rows = measured.map(async ({ name, child, rates, ratios }) => {
    const cells = [name, whole(median(rates)), printSpread(ratios)];
    return request === CANCEL ? cells : [...cells, `${(await ask(child, request)).length}`];
  });
  return {
    title: `${request.name}: requests a second over loopback, ${CONNECTIONS} keep-alive connections`,
    head: ['server', 'a second', 'to bare (least–most)', ...(request === CANCEL ? [] : ['bytes of an answer'])],
    rows: await Promise.all(rows),
  };
}
