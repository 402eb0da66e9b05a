import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log, LogFields } from '../log/log.js';
import { messageOf } from '../log/message-of.js';
import { failed, type Outcome } from '../outcome.js';
import { WORKER_VARIABLE, type WorkerMessage } from './lifecycle.js';
import { firstSignal } from './signals.js';

/** The shortest time between two starts of a worker. */
const RESTART_MS = 1_000;
/**
 * How long a worker may take to stop before it is killed. It is longer than a server takes to
 * drain.
 */
const STOP_MS = 9_000;

/**
 * Runs the program in `count` workers with this process's arguments, on one port. This process
 * accepts the connections and hands them to the workers. It replaces a worker that exits. At a
 * signal, it stops accepting connections. Each worker then finishes the requests on the connections
 * that it has been handed, and exits.
 */
export async function runPrimary(count: number, log: Log): Promise<Outcome> {
  const running = new Map<number, RunningWorker>();
  const stopping = new AbortController();

  function killAll(): void {
    for (const { worker } of running.values()) worker.process.kill('SIGKILL');
  }

  function start(number: number): RunningWorker {
    const started = startWorker(number);
    running.set(number, started);
    void started.ended.then(() => running.delete(number));
    return started;
  }

  async function keep(first: RunningWorker): Promise<void> {
    const { number } = first;
    for (let kept = first; ; ) {
      const end = await kept.ended;
      if (stopping.signal.aborted) return;
      log.error('worker ended', { worker: number, ...end });
      const waitMs = Math.max(0, kept.startMs + RESTART_MS - performance.now());
      await sleep(waitMs, undefined, stopping).catch(() => {});
      if (stopping.signal.aborted) return;
      kept = start(number);
      void kept.begun.then((begun) => {
        if ('listening' in begun) log.event('worker replaced', { worker: number });
        else log.error('worker cannot start', { worker: number, error: begun.failed });
      });
    }
  }

  process.once('exit', killAll);
  // The first worker starts alone. If it cannot serve, the other workers could not serve either.
  // They are not started, so the reason is reported only once.
  const first = start(1);
  const rest = 'listening' in (await first.begun) ? Array.from({ length: count - 1 }, (_, n) => start(n + 2)) : [];
  const workers = [first, ...rest];
  let listening: LogFields = {};
  for (const begun of await Promise.all(workers.map((worker) => worker.begun))) {
    if ('failed' in begun) {
      killAll();
      return failed(begun.failed);
    }
    listening = { ...begun.listening, ...listening };
  }
  const signal = firstSignal();
  for (const worker of workers) void keep(worker);
  log.event('listening', { ...listening, workers: count });

  log.event('stopping', { signal: await signal });
  stopping.abort();
  const late = setTimeout(killAll, STOP_MS);
  const stops = await Promise.all(Array.from(running.values(), stop));
  clearTimeout(late);
  for (const { number, end } of stops) if (end.code !== 0) log.error('worker ended', { worker: number, ...end });
  log.event('stopped');
  return stops.every(({ end }) => end.code === 0) ? { outcome: 'done' } : failed('a worker did not stop cleanly');
}

interface RunningWorker {
  readonly number: number;
  readonly worker: Worker;
  readonly startMs: number;
  /** Resolves when the worker listens or has failed. Never rejects. */
  readonly begun: Promise<WorkerMessage>;
  readonly ended: Promise<WorkerEnd>;
  isListening: boolean;
}

interface WorkerEnd {
  readonly code?: number;
  readonly signal?: string;
  readonly error?: string;
}

function startWorker(number: number): RunningWorker {
  const worker = cluster.fork({ [WORKER_VARIABLE]: `${number}` });
  const ended = new Promise<WorkerEnd>((resolve) => {
    worker.on('exit', (code, signal) => resolve(signal ? { signal } : { code }));
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) resolve({ error: messageOf(error) });
    });
  });
  const begun = new Promise<WorkerMessage>((resolve) => {
    worker.on('message', (message: unknown) => {
      if (!isWorkerMessage(message)) return;
      started.isListening = 'listening' in message;
      resolve(message);
    });
    void ended.then(({ code, signal, error }) => {
      resolve({ failed: `worker ${number} ended before it was ready: ${error ?? signal ?? `exit code ${code}`}` });
    });
  });
  const started = { number, worker, startMs: performance.now(), begun, ended, isListening: false };
  return started;
}

async function stop({ number, worker, ended, isListening }: RunningWorker) {
  if (isListening && worker.isConnected()) worker.send('drain');
  else worker.process.kill('SIGKILL');
  // The port closes when the last worker is disconnected, so all workers are disconnected now and
  // not when they exit. A connection that was handed to a worker is still served, because it
  // reaches the worker before the message `drain`.
  if (worker.isConnected()) worker.disconnect();
  const end = await ended;
  return { number, end: isListening ? end : { code: 0 } };
}

function isWorkerMessage(message: unknown): message is WorkerMessage {
  return typeof message === 'object' && message !== null && ('listening' in message || 'failed' in message);
}
