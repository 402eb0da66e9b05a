import cluster from 'node:cluster';
import type { Log, LogFields } from '../log/log.js';
import { firstSignal, ignoreSignals } from './signals.js';

/** Who runs a server: is told what becomes of it, and tells it when to stop. */
export interface Supervisor {
  /** Whether this process says to a person what all of them could say. */
  readonly isFirst: boolean;
  say(event: 'listening' | 'stopping' | 'stopped', fields?: LogFields): void;
  /** Calls `listener` once, when the server is to stop, with why. */
  onStop(listener: (why: LogFields) => void): void;
}

/** Whoever started the process: the log tells, signals stop. */
export function processSupervisor(log: Log): Supervisor {
  return {
    isFirst: true,
    say: log.event,
    async onStop(listener) {
      listener({ signal: await firstSignal() });
    },
  };
}

/** What a worker tells its primary; the other way goes `drain`. */
export type WorkerMessage = { readonly listening: LogFields } | { readonly failed: string };

/** The number of a worker among its like, in its environment. One that takes the place of another has its number. */
export const WORKER_VARIABLE = 'STORE_ORDERS_WORKER';

/** A process that serves with others like it, under a primary. */
export interface OwnWorker extends Supervisor {
  readonly number: number;
  /** Tells why it cannot serve, and ends the process. */
  fail(message: string): Promise<never>;
}

/** This process as a worker, `undefined` if it is none, whatever else has made a cluster of it. */
export function ownWorker(environment: Readonly<Record<string, string | undefined>>): OwnWorker | undefined {
  const number = Number(environment[WORKER_VARIABLE] ?? 0);
  const { worker } = cluster;
  if (number === 0 || worker === undefined) return undefined;
  // A terminal sends a signal to all processes of a group, an init system to all of a service; the primary tells.
  ignoreSignals();

  function tell(message: WorkerMessage, then?: () => void): void {
    worker?.send(message, then);
  }

  return {
    number,
    isFirst: number === 1,
    say(event, fields = {}) {
      if (event === 'listening') tell({ listening: fields });
    },
    onStop(listener) {
      let isTold = false;
      function stop(): void {
        if (!isTold) listener({});
        isTold = true;
      }

      worker.on('message', (message: unknown) => {
        if (message === 'drain') stop();
      });
      worker.on('disconnect', () => {
        // The primary is gone. Else the cluster module ends the process at once, whoever waits for an answer.
        worker.exitedAfterDisconnect = true;
        stop();
      });
    },
    fail: (message) => new Promise(() => tell({ failed: message }, () => process.exit(1))),
  };
}
