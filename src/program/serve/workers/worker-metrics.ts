import cluster, { type Worker } from 'node:cluster';
import { EventEmitter, once } from 'node:events';
import { isWorkerMessage } from '../lifecycle.js';
import type { addUp, Reading } from '../metrics.js';

/** How long workers have to send their metrics. Then the last ones of a worker are used. */
const PATIENCE_MS = 5_000;

/**
 * Returns a function that adds up the metrics of all workers. Of a worker that has ended, only the
 * counts are kept, so that no sum falls. `sum` is {@link addUp}, whose module is loaded on demand.
 */
export function collectMetrics(sum: typeof addUp): () => Promise<string> {
  const readings = new Map<number, Reading>();
  let ended: Promise<Reading> = Promise.resolve([]);
  /** Has an event with the id of each worker that has sent its metrics or is gone. */
  const events = new EventEmitter();
  cluster.on('message', ({ id }: Worker, message: unknown) => {
    if (!isWorkerMessage(message) || !('metrics' in message)) return;
    readings.set(id, message.metrics);
    events.emit(`${id}`);
  });
  // At `exit`, the last message of a worker can still be on its way, and would be counted twice.
  cluster.on('disconnect', ({ id }: Worker) => {
    const counts = readings.get(id)?.filter(({ type }) => ['counter', 'histogram'].includes(`${type}`)) ?? [];
    readings.delete(id);
    ended = ended.then((before) => sum([before, counts]).getMetricsAsJSON());
    events.emit(`${id}`);
  });

  return async () => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const asked = Object.values(cluster.workers ?? {}).map(async (worker) => {
      if (worker === undefined || !worker.isConnected()) return;
      const sent = once(events, `${worker.id}`, { signal });
      worker.send('metrics', () => {});
      await sent;
    });
    await Promise.allSettled(asked);
    return sum([...readings.values(), await ended]).metrics();
  };
}
