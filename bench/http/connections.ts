import { LIST, load } from '../load/load.js';
import { startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';

const SUBJECTS = [
  { name: 'bare node:http', server: 'bare', role: 'floor' },
  { name: 'store-orders, nodeHandler', server: 'handler', role: 'ours' },
  { name: 'Fastify 5', server: 'rivals/fastify', role: undefined },
] as const;
const COUNTS = [1, 8, 64, 256];
const ROUNDS = 3;

/** Measures requests per second as the number of connections grows. */
export async function connections(): Promise<Table> {
  const children = await Promise.all(SUBJECTS.map(({ server }) => startServer(server)));
  try {
    const rates = COUNTS.map(() => SUBJECTS.map((): number[] => []));
    // The first round is a warm-up. Its figures are not used.
    for (let round = isQuick ? 1 : 0; round <= rounds(ROUNDS); round++) {
      for (const [at, connections] of COUNTS.entries()) {
        for (const [index, server] of children.entries()) {
          const { perSecond } = await load({ server, request: LIST, connections, seconds: 1 });
          if (round > 0) rates[at]?.[index]?.push(perSecond);
        }
      }
    }
    return {
      title: `${LIST.name}: requests per second at each number of connections, and the ratio to the bare server (least–most)`,
      head: ['connections', ...SUBJECTS.map(({ name }) => name)],
      rows: rates.map((row, at) => [
        `${COUNTS[at]}`,
        ...row.map((values, index) =>
          index === 0 ? whole(median(values)) : `${whole(median(values))}, ${ratio(values, row[0] ?? [])}`,
        ),
      ]),
      chart: {
        name: 'connections',
        title: 'Requests per second at each number of connections',
        kind: 'lines',
        x: 'connections',
        y: 'requests a second',
        points: SUBJECTS.flatMap(({ name, role }, index) =>
          COUNTS.map((x, at) => ({ series: name, role, x, values: rates[at]?.[index] ?? [] })),
        ),
      },
    };
  } finally {
    for (const { stop } of children) stop();
  }
}
