import { channel } from 'node:diagnostics_channel';
import { onReplies } from '../../src/server/log/request-log.js';
import { createMetrics } from '../../src/server/metrics/metrics.js';
import { LIST, load } from '../load/load.js';
import { type Child, startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, printSpread } from '../report/statistics.js';
import type { Table } from '../report/table.js';

const MESSAGES = isQuick ? 1_000 : 1_000_000;
const CONNECTIONS = 32;

/**
 * Measures how much processor time the metrics add to each reply: the time with metrics, minus the
 * time without them.
 */
function countedReply(): Table {
  const replies = channel('store-orders:reply');
  const message = { requestId: 'a', status: 200, bytes: 921, operation: 'listOrders', plan: 'pro', durationMs: 0.05 };
  const usedNs = () => {
    const before = process.cpuUsage();
    for (let n = 0; n < MESSAGES; n++) replies.publish(message);
    const { user, system } = process.cpuUsage(before);
    return ((user + system) * 1_000) / MESSAGES;
  };
  const added: number[] = [];
  const endLog = onReplies(() => {});
  for (let round = 0; round < rounds(9); round++) {
    const without = usedNs();
    const metrics = createMetrics(false);
    added.push(usedNs() - without);
    metrics.close();
  }
  endLog();
  return {
    title: 'Processor time that the metrics add to each response',
    head: ['', 'ns of processor time'],
    rows: [['count', printSpread(added)]],
  };
}

/** Measures the processor time of a request to the program with and without `--metrics-port`. */
export async function metrics(): Promise<readonly Table[]> {
  const without = await startServer('bundled', 'events');
  const counted = await startServer('bundled', 'events', '--metrics-port', '0');
  const usedUs = async (server: Child) => {
    const beforeUs = server.cpuUs();
    const { answers } = await load({ server, request: LIST, connections: CONNECTIONS, seconds: 1 });
    return (server.cpuUs() - beforeUs) / answers;
  };
  try {
    const used: number[] = [];
    const ratios: number[] = [];
    for (const child of isQuick ? [] : [without, counted]) await usedUs(child);
    for (let round = 0; round < rounds(15); round++) {
      // The order of the two servers alternates from round to round, because the speed of the
      // machine drifts.
      const first = round % 2 === 0 ? await usedUs(without) : Number.NaN;
      const own = await usedUs(counted);
      const floor = round % 2 === 0 ? first : await usedUs(without);
      used.push(own);
      ratios.push(floor / own);
    }
    return [
      countedReply(),
      {
        title: 'Processor time per request of the program with --metrics-port',
        head: ['', 'µs of processor time', 'processor time, without metrics ÷ with metrics'],
        rows: [[LIST.name, median(used).toFixed(1), printSpread(ratios)]],
      },
    ];
  } finally {
    without.stop();
    counted.stop();
  }
}
