import { ask, CANCEL, LIST, type LoadRequest, load, MISS } from '../load/load.js';
import { type Child, startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import type { Point } from '../report/chart.js';
import { median, printSpread, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { FIRST_PENDING_ID, PENDING_IDS } from '../servers/orders.js';

interface Subject {
  readonly name: string;
  readonly server: readonly [name: string, ...parameters: string[]];
  readonly role?: Point['role'];
}

const BARE: Subject = { name: 'bare node:http', server: ['bare'], role: 'floor' };
const SUBJECTS: readonly Subject[] = [
  { name: 'store-orders, nodeHandler', server: ['handler'], role: 'ours' },
  { name: 'store-orders serve', server: ['bundled'], role: 'ours' },
  { name: 'node:http, rate-limiter-flexible', server: ['rivals/flexible'] },
  { name: 'Fastify 5', server: ['rivals/fastify'] },
  { name: 'Hono on node-server', server: ['rivals/hono'] },
  { name: 'h3', server: ['rivals/h3'] },
  { name: 'Koa', server: ['rivals/koa'] },
  { name: 'Express 5', server: ['rivals/express'] },
];
const CONNECTIONS = 32;
const WARM_UP_SECONDS = 3;
/**
 * The first order that is cancelled in the second of warm-up before each measurement. The
 * measurement cancels the orders from `FIRST_PENDING_ID` on.
 */
const WARM_UP_ID = FIRST_PENDING_ID + PENDING_IDS.length / 2;
/** How many servers are measured between two measurements of the bare server. */
const GROUP = 5;

interface Measured extends Subject {
  readonly child: Child;
  readonly rates: number[];
  /** Responses with a status other than the expected one. */
  readonly strays: number[];
  /**
   * Comparisons with the bare server, which is measured before and after each group of servers.
   * `ratios`: this server's responses per second, divided by the bare server's. `cpuRatios`: the
   * bare server's processor time per response, divided by this server's. A higher value is better
   * in both.
   */
  readonly ratios: number[];
  readonly cpuRatios: number[];
}

/**
 * Measures requests per second over loopback. Compares each server with a bare server, which only
 * sends the bytes of the service's responses.
 */
export async function loopback(): Promise<readonly Table[]> {
  const children = await Promise.all([BARE, ...SUBJECTS].map(({ server }) => startServer(...server)));
  try {
    await checkBytes(children);
    const tables: Table[] = [];
    const points: Point[] = [];
    for (const [request, count] of [
      [LIST, 3],
      [MISS, 3],
      [CANCEL, 3],
    ] as const) {
      const measured = await measure(children, request, rounds(count));
      tables.push(toTable(measured, request));
      points.push(
        ...measured.map(({ name, role, ratios: values }) => ({ series: name, role, x: request.name, values })),
      );
    }
    const chart = {
      name: 'loopback',
      title: `Requests a second over loopback, relative to a bare node:http server`,
      y: 'requests a second, bare node:http = 1',
      rule: 1,
      points,
    };
    return tables.map((table, index) => (index === 0 ? { ...table, chart } : table));
  } finally {
    for (const { stop } of children) stop();
  }
}

async function measure(children: readonly Child[], request: LoadRequest, count: number): Promise<readonly Measured[]> {
  const [bare, ...others] = children.map((child, index): Measured => {
    const subject = [BARE, ...SUBJECTS][index] ?? BARE;
    return { ...subject, child, rates: [], strays: [], ratios: [], cpuRatios: [] };
  });
  if (bare === undefined) throw new TypeError('expected servers');
  const ask = (server: Child, seconds: number, firstId = FIRST_PENDING_ID) =>
    load({ server, request, connections: CONNECTIONS, seconds, firstId });
  async function slice({ child, rates, strays }: Measured) {
    // The server is warmed up before each measurement, because Node.js may have dropped the
    // server's compiled code. That happens in a garbage collection while no client is connected,
    // such as after `refill`.
    if (!isQuick) await ask(child, 1, WARM_UP_ID);
    const fromUs = child.cpuUs();
    const { answers, perSecond, stray } = await ask(child, 1);
    const usedUs = (child.cpuUs() - fromUs) / answers;
    rates.push(perSecond);
    strays.push(stray);
    return { perSecond, usedUs };
  }

  await refill(children, request);
  if (!isQuick) await Promise.all(children.map((server) => ask(server, WARM_UP_SECONDS)));
  for (let round = 0; round < count; round++) {
    await refill(children, request);
    let before = await slice(bare);
    for (let from = 0; from < others.length; from += GROUP) {
      const group = others.slice(from, from + GROUP);
      const slices = [];
      for (const subject of group) slices.push({ subject, ...(await slice(subject)) });
      const after = await slice(bare);
      for (const { subject, perSecond, usedUs } of slices) {
        subject.ratios.push(perSecond / ((before.perSecond + after.perSecond) / 2));
        subject.cpuRatios.push((before.usedUs + after.usedUs) / 2 / usedUs);
      }
      before = after;
    }
    bare.ratios.push(1);
    bare.cpuRatios.push(1);
  }
  return [bare, ...others];
}

/**
 * Checks that the bare servers send the same bytes as the service. Digits are not compared, because
 * the time, the quota and the tag differ.
 */
async function checkBytes(children: readonly Child[]): Promise<void> {
  const same = children.slice(0, [BARE, ...SUBJECTS].findIndex(({ role }) => role === 'ours') + 1);
  for (const request of [LIST, MISS]) {
    const answers = await Promise.all(same.map(async (child) => (await ask(child, request)).replace(/\d+/g, '0')));
    const differing = answers.find((answer) => answer !== answers[0]);
    if (differing !== undefined) throw new Error(`two servers sent different responses:\n${answers[0]}\n${differing}`);
  }
}

/** Makes the orders of all servers pending again, if `request` is {@link CANCEL}. */
async function refill(children: readonly Child[], request: LoadRequest): Promise<void> {
  if (request === CANCEL) await Promise.all(children.map((child) => child.ask()));
}

function toTable(measured: readonly Measured[], request: LoadRequest): Table {
  return {
    title: `${request.name}: requests a second over loopback, ${CONNECTIONS} keep-alive connections`,
    head: ['server', 'a second', 'ratio to bare (least–most)', 'the same by processor time', 'stray responses'],
    headline: 3,
    rows: measured.map(({ name, rates, ratios, cpuRatios, strays }) => [
      name,
      whole(median(rates)),
      printSpread(ratios),
      printSpread(cpuRatios),
      `${strays.reduce((sum, count) => sum + count, 0)}`,
    ]),
  };
}
