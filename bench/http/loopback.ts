import { ask, CANCEL, LIST, MISS } from '../load/load.js';
import { type Child, startServer } from '../processes/child.js';
import type { Point } from '../report/chart.js';
import { median, printSpread, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { type Measured, measureBesideBare } from './beside-bare.js';

interface Subject {
  readonly name: string;
  readonly server: string;
  readonly role?: Point['role'];
}

const SUBJECTS: readonly Subject[] = [
  { name: 'bare node:http', server: 'bare', role: 'floor' },
  { name: 'store-orders, nodeHandler', server: 'handler', role: 'ours' },
  { name: 'node:http, rate-limiter-flexible', server: 'rivals/flexible' },
  { name: 'Fastify 5', server: 'rivals/fastify' },
  { name: 'Hono on node-server', server: 'rivals/hono' },
  { name: 'h3', server: 'rivals/h3' },
  { name: 'Koa', server: 'rivals/koa' },
  { name: 'Express 5', server: 'rivals/express' },
];
const REQUESTS = [LIST, MISS, CANCEL];
const CONNECTIONS = 32;
const ROUNDS = 3;

/**
 * Measures requests per second over loopback. Compares each server with a bare server, which only
 * sends the bytes of the service's responses.
 */
export async function loopback(): Promise<readonly Table[]> {
  const children = await Promise.all(SUBJECTS.map(({ server }) => startServer(server)));
  const [bare, ...others] = children;
  if (bare === undefined) throw new TypeError('expected servers');
  try {
    await checkBytes(children);
    const measured: (readonly Measured[])[] = [];
    for (const request of REQUESTS) {
      measured.push(await measureBesideBare(bare, others, { request, connections: CONNECTIONS, count: ROUNDS }));
    }
    const chart = {
      name: 'loopback',
      title: 'Requests a second over loopback, relative to a bare node:http server',
      y: 'requests a second, bare node:http = 1',
      rule: 1,
      points: REQUESTS.flatMap(({ name: x }, place) =>
        SUBJECTS.map(({ name, role }, index) => ({
          series: name,
          role,
          x,
          values: measured[place]?.[index]?.ratios ?? [],
        })),
      ),
    };
    return [{ ...toTable(measured), chart }];
  } finally {
    for (const { stop } of children) stop();
  }
}

/**
 * Checks that the bare servers send the same bytes as the service. Digits are not compared, because
 * the time, the quota and the tag differ.
 */
async function checkBytes(children: readonly Child[]): Promise<void> {
  const same = children.slice(0, SUBJECTS.findIndex(({ role }) => role === 'ours') + 1);
  for (const request of [LIST, MISS]) {
    const answers = await Promise.all(same.map(async (child) => (await ask(child, request)).replace(/\d+/g, '0')));
    const differing = answers.find((answer) => answer !== answers[0]);
    if (differing !== undefined) throw new Error(`two servers sent different responses:\n${answers[0]}\n${differing}`);
  }
}

function toTable(measured: readonly (readonly Measured[])[]): Table {
  return {
    title: `Requests a second over loopback, ${CONNECTIONS} keep-alive connections, and ratio to bare by processor time (least–most)`,
    head: ['server', ...REQUESTS.flatMap(({ name }) => [`${name}, a second`, `${name}, ratio`]), 'stray responses'],
    headlines: REQUESTS.map((_, index) => 2 + 2 * index),
    rows: SUBJECTS.map(({ name }, index) => {
      const ofRequests = measured.map((all) => all[index] ?? { rates: [], cpuRatios: [], strays: [] });
      const strays = ofRequests.flatMap((of) => of.strays).reduce((sum, count) => sum + count, 0);
      const cells = ofRequests.flatMap(({ rates, cpuRatios }) => [whole(median(rates)), printSpread(cpuRatios)]);
      return [name, ...cells, `${strays}`];
    }),
  };
}
