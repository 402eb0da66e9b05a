import cluster from 'node:cluster';
import type { Log, LogFields } from '../log/log.js';
import { WORKER_VARIABLE } from '../settings/read-settings.js';
import type { Reading } from './metrics.js';
import { firstSignal, SIGNALS } from './signals.js';

/** What starts and stops a server: signals, or the primary process of its workers. */
export interface Lifecycle {
  /** The number of this worker, starting with 1. Absent if this process is the only one. */
  readonly worker?: number;
  report(event: 'listening' | 'stopping' | 'stopped', fields?: LogFields): void;
  /** Sends what `read` returns to the primary process whenever it asks. Absent without workers. */
  shareMetrics?(read: () => Promise<Reading>): void;
  /** Calls `listener` when the server should stop, with the reason. */
  onStop(listener: (reason: LogFields) => void): void;
}

/** Creates the lifecycle of a single process. Events are logged, and a signal stops the server. */
export function processLifecycle(log: Log): Lifecycle {
  return { report: log.event, onStop: async (listener) => listener({ signal: await firstSignal() }) };
}

/** The messages from a worker to its primary, which sends `drain`, `metrics` and `respond` to a worker. */
export type WorkerMessage =
  | { readonly listening: LogFields }
  | { readonly failed: string }
  | { readonly metrics: Reading }
  | { readonly responds: true };

export function isWorkerMessage(message: unknown): message is WorkerMessage {
  const names = ['listening', 'failed', 'metrics', 'responds'];
  return typeof message === 'object' && message !== null && names.some((name) => name in message);
}

/** A worker: one of several processes that serve under a primary. */
export interface WorkerLifecycle extends Lifecycle {
  readonly worker: number;
  /** Tells the primary why this worker cannot serve, and ends the process. */
  fail(message: string): Promise<never>;
}

/**
 * Returns the lifecycle of this process as a worker. Returns `undefined` if `runPrimary` did not
 * start this process, even if it is a worker of another program's cluster.
 */
export function workerLifecycle(
  environment: Readonly<Record<string, string | undefined>>,
): WorkerLifecycle | undefined {
  const number = Number(environment[WORKER_VARIABLE] ?? 0);
  const { worker } = cluster;
  if (number === 0 || worker === undefined) return undefined;
  // A terminal sends a signal to the whole process group, and an init system to the whole service.
  // Each worker therefore gets the signal too, and leaves it to the primary.
  for (const signal of SIGNALS) process.on(signal, () => {});
  // A message to a primary that no longer listens is lost. Requests in flight are still served.
  worker.on('error', () => {});

  function send(message: WorkerMessage, sent?: () => void): void {
    worker?.send(message, sent);
  }
  worker.on('message', (message: unknown) => {
    if (message === 'respond') send({ responds: true });
  });

  return {
    worker: number,
    report(event, fields = {}) {
      if (event === 'listening') send({ listening: fields });
    },
    shareMetrics(read) {
      worker.on('message', async (message: unknown) => {
        if (message === 'metrics') send({ metrics: await read() });
      });
    },
    onStop(listener) {
      worker.on('message', (message: unknown) => {
        if (message === 'drain') listener({});
      });
      worker.on('disconnect', () => {
        // Without this assignment, the cluster module would end this process immediately after the
        // primary has exited, even with requests in flight.
        worker.exitedAfterDisconnect = true;
        listener({});
      });
    },
    fail: (message) => new Promise(() => send({ failed: message }, () => process.exit(1))),
  };
}
