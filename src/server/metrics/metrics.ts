import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RedisLimiter } from '../../limits/redis/limiter.js';
import { type Backends, stateOf } from '../listener/health.js';
import { onReplies } from '../log/request-log.js';
import { createProcessMetrics } from './process-metrics.js';
import { createRequestMetrics } from './request-metrics.js';
import { createHistogram, printHistogram, printMetric } from './text-format.js';

/**
 * The metrics of this process, collected from the diagnostics channels that an embedding program
 * can subscribe to as well.
 */
export interface Metrics {
  /** Returns the metrics in the text format of Prometheus, including the state of `backends`. */
  text(backends: Backends): Promise<string>;
  close(): void;
}

const MODES: readonly RedisLimiter['mode'][] = ['shared', 'local', 'open', 'closed'];
const MODE_HELP = '1 for the current mode of the Redis limiter, 0 for the other modes.';
const STATES = ['ok', 'degraded', 'unavailable'] as const;
const WRITES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/**
 * Creates the metrics. Without a Redis limiter, the metric for the mode of that limiter is left
 * out.
 */
export function createMetrics(hasRedis: boolean): Metrics {
  const requests = createRequestMetrics();
  const ofProcess = createProcessMetrics();
  const writes = createHistogram(WRITES);
  let mode: unknown = 'shared';

  function onCommit(message: unknown): void {
    writes.observe(Number(Reflect.get(Object(message), 'writes')));
  }

  function onMode(message: unknown): void {
    mode = Reflect.get(Object(message), 'mode');
  }

  const endReplies = onReplies(requests.count);
  subscribe('store-orders:commit', onCommit);
  subscribe('store-orders:limiter', onMode);

  return {
    async text(backends) {
      const states = await Promise.all(
        Object.entries(backends).map(async ([backend, state]) => ({ backend, now: await stateOf(state) })),
      );
      const stateSamples = states.flatMap(({ backend, now }) =>
        STATES.map((state) => ({ labels: { backend, state }, value: Number(state === now) })),
      );
      const modeSamples = MODES.map((name) => ({ labels: { mode: name }, value: Number(name === mode) }));
      return [
        requests.text(),
        printMetric(
          'gauge',
          'store_orders_backend_state',
          '1 for the current state of a backend, 0 for the other states.',
          stateSamples,
        ),
        hasRedis ? printMetric('gauge', 'store_orders_limiter_mode', MODE_HELP, modeSamples) : '',
        printHistogram('store_orders_commit_writes', 'Number of writes that were committed together.', [[{}, writes]]),
        ofProcess.text(),
      ].join('');
    },

    close() {
      endReplies();
      unsubscribe('store-orders:commit', onCommit);
      unsubscribe('store-orders:limiter', onMode);
      ofProcess.close();
    },
  };
}
