import { readdirSync } from 'node:fs';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { openFilesLimit } from '../listener/connection-limit.js';
import { printMetric } from './text-format.js';

export interface ProcessMetrics {
  /**
   * Formats the metrics of this process. The delay of the event loop covers the time since the
   * previous call.
   */
  text(): string;
  close(): void;
}

const RESOLUTION_MS = 10;

/**
 * Creates the metrics of this process. Their names are those of the library prom-client, because
 * many dashboards use these names.
 */
export function createProcessMetrics(): ProcessMetrics {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  return {
    text() {
      const text = processText() + delayText(delays) + heapText();
      delays.reset();
      return text;
    },
    close: () => void delays.disable(),
  };
}

function processText(): string {
  const { user, system } = process.cpuUsage();
  const { rss } = process.memoryUsage();
  const cpu = 'CPU time spent in seconds.';
  return [
    printMetric('counter', 'process_cpu_user_seconds_total', `User ${cpu}`, user / 1e6),
    printMetric('counter', 'process_cpu_system_seconds_total', `System ${cpu}`, system / 1e6),
    printMetric('counter', 'process_cpu_seconds_total', `User and system ${cpu}`, (user + system) / 1e6),
    printMetric('gauge', 'process_start_time_seconds', 'Start time in Unix seconds.', performance.timeOrigin / 1e3),
    printMetric('gauge', 'process_resident_memory_bytes', 'Resident memory in bytes.', rss),
    openFilesText(),
  ].join('');
}

/** Returns an empty string on systems that do not report open files. */
function openFilesText(): string {
  try {
    const open = readdirSync('/proc/self/fd').length;
    return (
      printMetric('gauge', 'process_open_fds', 'Number of open file descriptors.', open) +
      printMetric('gauge', 'process_max_fds', 'Maximum number of open file descriptors.', openFilesLimit())
    );
  } catch {
    return '';
  }
}

function delayText(delays: IntervalHistogram): string {
  // Every measured delay contains the interval of the timer itself, so the interval is subtracted.
  const seconds = (ns: number) => (delays.count === 0 ? 0 : Math.max(0, ns / 1e9 - RESOLUTION_MS / 1e3));
  const figures = {
    '': delays.max,
    _min: delays.min,
    _max: delays.max,
    _mean: delays.mean,
    _p50: delays.percentile(50),
    _p90: delays.percentile(90),
    _p99: delays.percentile(99),
  };
  return Object.entries(figures)
    .map(([name, ns]) =>
      printMetric(
        'gauge',
        `nodejs_eventloop_lag${name}_seconds`,
        `Lag of the event loop since the previous scrape${name === '' ? ', the longest' : `, ${name.slice(1)}`}.`,
        seconds(ns),
      ),
    )
    .join('');
}

function heapText(): string {
  const { heapTotal, heapUsed, external } = process.memoryUsage();
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.');
  const version = [{ labels: { version: process.version, major, minor, patch }, value: 1 }];
  return [
    printMetric('gauge', 'nodejs_heap_size_total_bytes', 'Heap size of Node.js in bytes.', heapTotal),
    printMetric('gauge', 'nodejs_heap_size_used_bytes', 'Used heap size of Node.js in bytes.', heapUsed),
    printMetric('gauge', 'nodejs_external_memory_bytes', 'Memory outside the heap of Node.js, in bytes.', external),
    printMetric('gauge', 'nodejs_version_info', 'Version of Node.js.', version),
  ].join('');
}
