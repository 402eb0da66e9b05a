import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { COMMIT_CHANNEL } from '../../commits.js';
import { OPERATION_NAMES } from '../../http/operations.js';
import type { LimiterMode } from '../../limits/redis/limiter.js';
import { ifInstalled, notInstalled } from '../installed.js';
import { type Backends, stateOf } from '../listener/health.js';
import { onReplies } from '../log/replies.js';

export type Prometheus = typeof import('prom-client');

/**
 * Loads the library of the metrics, if it is installed. It is optional, because most programs have
 * no metrics port.
 */
export function loadPrometheus(): Promise<Prometheus | undefined> {
  return ifInstalled(import('prom-client'));
}

export const NO_PROMETHEUS = notInstalled('the metrics library', 'prom-client');

/** The metrics of this process, in the text format of Prometheus. */
export interface Metrics {
  text(): Promise<string>;
  close(): void;
}

const MODES: readonly LimiterMode[] = ['shared', 'local', 'open', 'closed'];
const STATES = ['ok', 'degraded', 'unavailable'] as const;
const WRITES = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/**
 * The upper bounds of the durations, in seconds. The first is 0.1 ms, because a typical request
 * takes less with orders and quotas in memory. The last is the longest time that a request may
 * take.
 */
const SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Creates the metrics. Replies and commits are collected from the diagnostics channels that an
 * embedding program can subscribe to as well. In a worker, the primary can collect the metrics.
 * `limiterMode` returns the mode of the Redis limiter, and is absent without one. No label contains
 * text of a request, so clients cannot create any number of time series.
 */
export function createMetrics(prometheus: Prometheus, backends: Backends, limiterMode?: () => LimiterMode): Metrics {
  const { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } = prometheus;
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'store_orders_requests_total',
    help: 'Requests that got a response.',
    labelNames: ['operation', 'status', 'code'],
    registers,
  });
  const seconds = new Histogram({
    name: 'store_orders_request_duration_seconds',
    help: 'Time from the head of a request to its response, in seconds.',
    labelNames: ['operation'],
    buckets: SECONDS,
    registers,
  });
  const failures = new Counter({
    name: 'store_orders_failures_total',
    help: 'Requests affected by an internal failure.',
    labelNames: ['operation'],
    registers,
  });
  const refusals = new Counter({
    name: 'store_orders_refusals_total',
    help: 'Requests refused by a quota or a ban.',
    labelNames: ['plan', 'code'],
    registers,
  });
  new Gauge({
    name: 'store_orders_backend_state',
    help: 'Number of processes in which the backend has this state.',
    labelNames: ['backend', 'state'],
    registers,
    async collect() {
      for (const [backend, check] of Object.entries(backends)) {
        const now = await stateOf(check);
        for (const state of STATES) this.set({ backend, state }, Number(state === now));
      }
    },
  });
  const writes = new Histogram({
    name: 'store_orders_commit_writes',
    help: 'Number of writes that were committed together.',
    buckets: WRITES,
    registers,
  });
  for (const operation of [...OPERATION_NAMES, 'none']) {
    seconds.zero({ operation });
    failures.inc({ operation }, 0);
  }

  if (limiterMode !== undefined) {
    new Gauge({
      name: 'store_orders_limiter_mode',
      help: 'Number of processes whose Redis limiter has this mode.',
      labelNames: ['mode'],
      registers,
      collect() {
        const now = limiterMode();
        for (const mode of MODES) this.set({ mode }, Number(mode === now));
      },
    });
  }

  function onCommit(message: unknown): void {
    writes.observe(Number(Reflect.get(Object(message), 'writes')));
  }

  const endReplies = onReplies(({ operation = 'none', status, code = '', error, durationMs, plan }) => {
    requests.inc({ operation, status, code });
    seconds.observe({ operation }, durationMs / 1_000);
    if (error !== undefined) failures.inc({ operation });
    if (status === 429) refusals.inc({ plan, code });
  });
  subscribe(COMMIT_CHANNEL, onCommit);
  AggregatorRegistry.setRegistries([registry]);
  new AggregatorRegistry();

  return {
    text: () => registry.metrics(),
    close() {
      endReplies();
      unsubscribe(COMMIT_CHANNEL, onCommit);
    },
  };
}

/** Returns a function that collects the metrics of all workers, and adds them up. */
export function collectFromWorkers({ AggregatorRegistry }: Prometheus): () => Promise<string> {
  const registry = new AggregatorRegistry();
  return () => registry.clusterMetrics();
}
