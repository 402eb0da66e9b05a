import cluster, { type Worker } from 'node:cluster';
import { EventEmitter, once } from 'node:events';
import type { Totals } from '../metrics/metrics.js';
import { isWorkerMessage } from './lifecycle.js';

/** How long workers have to send their metrics. Then the last ones of a worker are used. */
const PATIENCE_MS = 5_000;

/** Returns a function that adds up the metrics of all workers, also of those that have ended. */
export function collectMetrics(totals: Totals): () => Promise<string> {
  /** Has an event with the id of each worker that has sent its metrics or is gone. */
  const answers = new EventEmitter();
  cluster.on('message', ({ id }: Worker, message: unknown) => {
    if (!isWorkerMessage(message) || !('metrics' in message)) return;
    totals.set(id, message.metrics);
    answers.emit(`${id}`);
  });
  // At `exit`, the last message of a worker can still be on its way, and would be counted twice.
  cluster.on('disconnect', ({ id }: Worker) => {
    totals.end(id);
    answers.emit(`${id}`);
  });

  return async () => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const asked = Object.values(cluster.workers ?? {}).map(async (worker) => {
      if (worker === undefined || !worker.isConnected()) return;
      const answer = once(answers, `${worker.id}`, { signal });
      worker.send('metrics', () => {});
      await answer;
    });
    await Promise.allSettled(asked);
    return totals.serialize();
  };
}
