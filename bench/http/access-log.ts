import type { ReplyMessage } from 'store-orders';
import { createLog } from '../../src/server/log/log.js';
import { LIST, load, MISS } from '../load/load.js';
import { type Child, startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, printSpread } from '../report/statistics.js';
import type { Table } from '../report/table.js';

const LINES_IN_A_TURN = 32;
const TURNS = 4_000;
const CONNECTIONS = 32;

/** Measures the processor time that the access log needs to turn one reply into a line of bytes. */
async function accessLogLine(): Promise<Table> {
  const messages = Array.from({ length: 1_024 }, (_, index) => messageOf(index));
  const line: number[] = [];
  for (let round = 0; round < rounds(9); round++) {
    const log = createLog({ write: (text, written) => process.nextTick(written, Buffer.byteLength(text)) }, false);
    let next = 0;
    const before = process.cpuUsage();
    for (let turn = 0; turn < (isQuick ? 1 : TURNS); turn++) {
      for (let n = 0; n < LINES_IN_A_TURN; n++) log.request(messages[next++ % messages.length] ?? messageOf(0));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { user, system } = process.cpuUsage(before);
    line.push(((user + system) * 1_000) / next);
  }
  return {
    title: 'Processor time per line of the access log, including the time to write the line',
    head: ['', 'ns of processor time'],
    rows: [['line', printSpread(line)]],
  };
}

function messageOf(index: number): ReplyMessage {
  return {
    requestId: `abcdefgh-${index.toString(36)}`,
    method: 'GET',
    path: '/v1/store/orders',
    clientAddress: '127.0.0.1',
    status: 200,
    bytes: 921,
    operation: 'listOrders',
    keyId: 'key_0123456789',
    plan: 'pro',
    durationMs: (index % 977) / 7_919,
  };
}

/**
 * Measures the processor time of a request to the program with its default log, to the program with
 * `--log events`, and to a bare server. Each round measures every server once.
 */
export async function accessLog(): Promise<readonly Table[]> {
  const children = await Promise.all([
    startServer('bare'),
    startServer('bundled', 'events'),
    startServer('bundled', 'requests'),
  ]);
  const [bare, events, requests] = children;
  if (bare === undefined || events === undefined || requests === undefined) throw new TypeError('expected servers');
  try {
    const rows: string[][] = [];
    for (const request of [LIST, MISS]) {
      const ratios = { toBare: [] as number[], eventsToBare: [] as number[], toEvents: [] as number[] };
      const usedUs = async (server: Child) => {
        const beforeUs = server.cpuUs();
        const { answers } = await load({ server, request, connections: CONNECTIONS, seconds: 1 });
        return (server.cpuUs() - beforeUs) / answers;
      };
      const used: number[] = [];
      for (const child of isQuick ? [] : children) await usedUs(child);
      for (let round = 0; round < rounds(9); round++) {
        const floor = await usedUs(bare);
        const quiet = await usedUs(events);
        const logged = await usedUs(requests);
        used.push(logged);
        ratios.toBare.push(floor / logged);
        ratios.eventsToBare.push(floor / quiet);
        ratios.toEvents.push(quiet / logged);
      }
      const cells = [ratios.toBare, ratios.eventsToBare, ratios.toEvents].map(printSpread);
      rows.push([request.name, median(used).toFixed(1), ...cells]);
    }
    return [
      await accessLogLine(),
      {
        title: 'Processor time per request of the program with its default log',
        head: [
          '',
          'µs of processor time',
          'processor time, bare server ÷ default log',
          'processor time, bare server ÷ --log events',
          'processor time, --log events ÷ default log',
        ],
        rows,
      },
    ];
  } finally {
    for (const { stop } of children) stop();
  }
}
