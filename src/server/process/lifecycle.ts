import cluster from 'node:cluster';
import type { Log, LogFields } from '../log/log.js';
import { firstSignal, ignoreSignals } from './signals.js';

/** What surrounds a running server: hears what becomes of it, and decides when it stops. */
export interface Lifecycle {
  /** Whether this process prints what would be the same from all of them. */
  readonly isFirst: boolean;
  /** From 1 on. */
  readonly number: number;
  report(event: 'listening' | 'stopping' | 'stopped', fields?: LogFields): void;
  /** Calls `listener` once, when the server is to stop, with the reason. */
  onStop(listener: (reason: LogFields) => void): void;
}

/** A process of its own: events go to the log, signals stop the server. */
export function processLifecycle(log: Log): Lifecycle {
  return {
    isFirst: true,
    number: 1,
    report: log.event,
    async onStop(listener) {
      listener({ signal: await firstSignal() });
    },
  };
}

/** What a worker sends to its primary. The primary sends `drain`. */
export type WorkerMessage = { readonly listening: LogFields } | { readonly failed: string };

/** The environment variable with the worker's number. A replacement gets the number of the worker it replaces. */
export const WORKER_VARIABLE = 'STORE_ORDERS_WORKER';

/** One of several processes that serve under a primary. */
export interface WorkerLifecycle extends Lifecycle {
  /** Tells the primary why this worker cannot serve, and ends the process. */
  fail(message: string): Promise<never>;
}

/** This process as a worker; `undefined` if `runPrimary` did not start it, even inside another cluster. */
export function workerLifecycle(
  environment: Readonly<Record<string, string | undefined>>,
): WorkerLifecycle | undefined {
  const number = Number(environment[WORKER_VARIABLE] ?? 0);
  const { worker } = cluster;
  if (number === 0 || worker === undefined) return undefined;
  // A terminal signals the whole process group, and an init system the whole service. The primary decides.
  ignoreSignals();

  function send(message: WorkerMessage, sent?: () => void): void {
    worker?.send(message, sent);
  }

  return {
    number,
    isFirst: number === 1,
    report(event, fields = {}) {
      if (event === 'listening') send({ listening: fields });
    },
    onStop(listener) {
      let isStopping = false;
      function stop(): void {
        if (!isStopping) listener({});
        isStopping = true;
      }

      worker.on('message', (message: unknown) => {
        if (message === 'drain') stop();
      });
      worker.on('disconnect', () => {
        // The primary is gone. Without this the cluster module ends the process at once, with requests in flight.
        worker.exitedAfterDisconnect = true;
        stop();
      });
    },
    fail: (message) => new Promise(() => send({ failed: message }, () => process.exit(1))),
  };
}
