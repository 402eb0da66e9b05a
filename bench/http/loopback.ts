import { ask, CANCEL, LIST, type LoadRequest, load, loadWarm, MISS, refill } from '../load/load.js';
import { type Child, startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import type { Point } from '../report/chart.js';
import { median, printSpread, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';

interface Subject {
  readonly name: string;
  readonly server: readonly [name: string, ...parameters: string[]];
  readonly role?: Point['role'];
}

const BARE: Subject = { name: 'bare node:http', server: ['bare'], role: 'floor' };
const SUBJECTS: readonly Subject[] = [
  { name: 'store-orders, nodeHandler', server: ['handler'], role: 'ours' },
  { name: 'store-orders serve', server: ['bundled'], role: 'ours' },
  { name: 'store-orders serve --log events', server: ['bundled', '--log', 'events'], role: 'ours' },
  { name: 'node:http, rate-limiter-flexible', server: ['rivals/flexible'] },
  { name: 'Fastify 5', server: ['rivals/fastify'] },
  { name: 'Hono on node-server', server: ['rivals/hono'] },
  { name: 'h3', server: ['rivals/h3'] },
  { name: 'Koa', server: ['rivals/koa'] },
  { name: 'Express 5', server: ['rivals/express'] },
];
const REQUESTS = [LIST, MISS, CANCEL];
const CONNECTIONS = 32;
const ROUNDS = 3;
const WARM_UP_SECONDS = 3;
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
    const measured = [];
    for (const request of REQUESTS) measured.push(await measure(children, request));
    const chart = {
      name: 'loopback',
      title: 'Requests a second over loopback, relative to a bare node:http server',
      y: 'requests a second, bare node:http = 1',
      rule: 1,
      points: measured.flatMap((subjects, index) =>
        subjects.map(({ name, role, ratios }) => ({
          series: name,
          role,
          x: REQUESTS[index]?.name ?? '',
          values: ratios,
        })),
      ),
    };
    return [{ ...toTable(measured), chart }];
  } finally {
    for (const { stop } of children) stop();
  }
}

async function measure(children: readonly Child[], request: LoadRequest): Promise<readonly Measured[]> {
  const [bare, ...others] = children.map((child, index): Measured => {
    const subject = [BARE, ...SUBJECTS][index] ?? BARE;
    return { ...subject, child, rates: [], strays: [], ratios: [], cpuRatios: [] };
  });
  if (bare === undefined) throw new TypeError('expected servers');
  async function slice({ child, rates, strays }: Measured) {
    const loaded = await loadWarm({ server: child, request, connections: CONNECTIONS });
    rates.push(loaded.perSecond);
    strays.push(loaded.stray);
    return loaded;
  }

  await refill(children, request);
  if (!isQuick) {
    await Promise.all(
      children.map((server) => load({ server, request, connections: CONNECTIONS, seconds: WARM_UP_SECONDS })),
    );
  }
  for (let round = 0; round < rounds(ROUNDS); round++) {
    await refill(children, request);
    let before = await slice(bare);
    for (let from = 0; from < others.length; from += GROUP) {
      const slices = [];
      for (const subject of others.slice(from, from + GROUP)) slices.push({ subject, ...(await slice(subject)) });
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

function toTable(measured: readonly (readonly Measured[])[]): Table {
  const [subjects = []] = measured;
  return {
    title: `Requests a second over loopback, ${CONNECTIONS} keep-alive connections, and ratio to bare by processor time (least–most)`,
    head: ['server', ...REQUESTS.flatMap(({ name }) => [`${name}, a second`, `${name}, ratio`]), 'stray responses'],
    headlines: REQUESTS.map((_, index) => 2 + 2 * index),
    rows: subjects.map(({ name }, index) => {
      const ofRequests = measured.map((all) => all[index] ?? { rates: [], cpuRatios: [], strays: [] });
      const strays = ofRequests.flatMap((of) => of.strays).reduce((sum, count) => sum + count, 0);
      const cells = ofRequests.flatMap(({ rates, cpuRatios }) => [whole(median(rates)), printSpread(cpuRatios)]);
      return [name, ...cells, `${strays}`];
    }),
  };
}
