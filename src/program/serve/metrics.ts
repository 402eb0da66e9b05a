import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, register } from 'prom-client';
import { OPERATION_NAMES, type ReplyMessage } from '../../http/index.js';
import type { LimiterMode } from '../../limits/redis/limiter.js';
import { BACKEND_STATES, type Backends, readBackend } from '../../server/index.js';
import type { Log } from '../log/log.js';

const MODES: readonly LimiterMode[] = ['shared', 'local', 'open', 'closed'];
/** Upper bounds of durations. With all parts in memory, a typical request is faster than the first. */
const DURATION_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

export type Metrics = ReturnType<typeof createMetrics>;

/** The metrics of one process at one time, as plain data. */
export type Reading = Awaited<ReturnType<typeof register.getMetricsAsJSON>>;

/**
 * Creates the metrics of this process. `limiterMode` returns the mode of the Redis limiter. It is
 * absent if quotas are counted in this process. No label contains text of a request, so clients
 * cannot create an unlimited number of time series.
 */
export function createMetrics(backends: Backends, log: Pick<Log, 'dropped'>, limiterMode?: () => LimiterMode) {
  collectDefaultMetrics();
  const metric = (name: string, help: string, labelNames: string[] = []) => {
    return { name: `store_orders_${name}`, help, labelNames };
  };
  const requests = new Counter(
    metric('requests_total', 'Requests that got a response.', ['operation', 'status', 'code']),
  );
  const seconds = new Histogram({
    ...metric('request_duration_seconds', 'Time from the head of a request to its response, in seconds.', [
      'operation',
    ]),
    buckets: DURATION_BUCKETS,
  });
  const failures = new Counter(
    metric('failures_total', 'Requests that failed because of the server or a backend.', ['operation']),
  );
  const refusals = new Counter(metric('refusals_total', 'Requests refused by a quota or a ban.', ['plan', 'code']));
  new Gauge({
    ...metric('backend_state', 'Number of processes in which the backend has this state.', ['backend', 'state']),
    async collect() {
      for (const [backend, check] of Object.entries(backends)) {
        const { state: current } = await readBackend(check);
        for (const state of BACKEND_STATES) this.set({ backend, state }, Number(state === current));
      }
    },
  });
  new Counter({
    ...metric('log_lines_dropped_total', 'Log lines that were dropped because the log was not read in time.'),
    collect() {
      this.reset();
      this.inc(log.dropped);
    },
  });
  if (limiterMode !== undefined) {
    new Gauge({
      ...metric('limiter_mode', 'Number of processes whose Redis limiter has this mode.', ['mode']),
      collect() {
        const current = limiterMode();
        for (const mode of MODES) this.set({ mode }, Number(mode === current));
      },
    });
  }
  for (const operation of [...OPERATION_NAMES, 'none']) {
    seconds.zero({ operation });
    failures.inc({ operation }, 0);
  }

  return {
    /** Counts a reply once, also if its list is cut off later. */
    count(message: ReplyMessage): void {
      const { operation = 'none', status, code = '', error, durationMs, plan } = message;
      if (message.isCutOff) return;
      requests.inc({ operation, status, code });
      seconds.observe({ operation }, durationMs / 1_000);
      if (error !== undefined) failures.inc({ operation });
      if (status === 429) refusals.inc({ plan, code });
    },
    /** Serialises the metrics in the text format of Prometheus. */
    serialize: (): Promise<string> => register.metrics(),
    /** Reads the metrics for {@link addUp} in another process. */
    read: (): Promise<Reading> => register.getMetricsAsJSON(),
  };
}

/** Adds up the metrics of several processes. */
export function addUp(readings: readonly Reading[]) {
  return AggregatorRegistry.aggregate([...readings]);
}
