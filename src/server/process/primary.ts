import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CommandResult, failed } from '../command-result.js';
import type { Settings } from '../config/settings.js';
import type { Log, LogFields } from '../log/log.js';
import { messageOf } from '../log/message-of.js';
import { collectFromWorkers, loadPrometheus, NO_PROMETHEUS } from '../metrics/metrics.js';
import { WORKER_VARIABLE, type WorkerMessage } from './lifecycle.js';
import { listenForMetrics } from './metrics-port.js';
import { firstSignal } from './signals.js';

/** The shortest time between two starts of a worker. */
const RESTART_MS = 1_000;
/**
 * How long a worker may take to stop before it is killed. It is longer than a server takes to
 * drain.
 */
const STOP_MS = 9_000;

/**
 * Runs the program in several workers with this process's arguments, on one port. This process
 * accepts the connections and hands them to the workers. It replaces a worker that exits. At a
 * signal, it stops accepting connections. Each worker then finishes the requests on the connections
 * that it has been handed, and exits.
 */
export async function runPrimary(settings: Settings, log: Log): Promise<CommandResult> {
  const { workers: count, host, metricsPort } = settings;
  const prometheus = metricsPort === undefined ? undefined : await loadPrometheus();
  if (metricsPort !== undefined && prometheus === undefined) return failed(NO_PROMETHEUS);
  const running = new Set<RunningWorker>();
  let isStopping = false;

  function killAll(): void {
    for (const { worker } of running) worker.process.kill('SIGKILL');
  }

  function start(number: number): RunningWorker {
    const startMs = performance.now();
    const started = startWorker(number);
    running.add(started);
    void started.ended.then(async (end) => {
      running.delete(started);
      if (isStopping || !started.isKept) return;
      log.error('worker ended', { worker: number, ...end });
      await sleep(Math.max(0, startMs + RESTART_MS - performance.now()), undefined, { ref: false });
      if (!isStopping) void replace(number);
    });
    return started;
  }

  async function replace(number: number): Promise<void> {
    const worker = start(number);
    worker.isKept = true;
    const begun = await worker.begun;
    if ('listening' in begun) log.event('worker replaced', { worker: number });
    else log.error('worker cannot start', { worker: number, error: begun.failed });
  }

  process.once('exit', killAll);
  // The first worker starts alone. If it cannot serve, the other workers could not serve either.
  // They are not started, so the reason is reported only once.
  const first = start(1);
  const rest = 'listening' in (await first.begun) ? Array.from({ length: count - 1 }, (_, n) => start(n + 2)) : [];
  let listening: LogFields = {};
  for (const begun of await Promise.all([first, ...rest].map((worker) => worker.begun))) {
    if ('failed' in begun) {
      killAll();
      return failed(begun.failed);
    }
    listening = { ...begun.listening, ...listening };
  }
  const metrics = prometheus && (await listenForMetrics(host, metricsPort, collectFromWorkers(prometheus)));
  if (metrics?.ok === false) {
    killAll();
    return failed(metrics.refusal);
  }
  const signal = firstSignal(killAll);
  for (const worker of running) worker.isKept = true;
  log.event('listening', { ...listening, ...metrics?.fields, workers: count });

  log.event('stopping', { signal: await signal });
  isStopping = true;
  metrics?.close();
  const late = setTimeout(killAll, STOP_MS);
  const unclean = (await Promise.all(Array.from(running, stop))).filter(({ code }) => code !== 0);
  clearTimeout(late);
  for (const end of unclean) log.error('worker ended', { ...end });
  log.event('stopped');
  return unclean.length === 0 ? { outcome: 'done' } : failed('a worker did not stop cleanly');
}

interface RunningWorker {
  readonly number: number;
  readonly worker: Worker;
  /** Resolves when the worker listens or has failed. Never rejects. */
  readonly begun: Promise<WorkerMessage>;
  readonly ended: Promise<WorkerEnd>;
  isListening: boolean;
  /** Whether the worker is replaced when it ends. */
  isKept: boolean;
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
  const started = { number, worker, begun, ended, isListening: false, isKept: false };
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
  return { worker: number, ...(isListening ? end : { code: 0 }) };
}

function isWorkerMessage(message: unknown): message is WorkerMessage {
  return typeof message === 'object' && message !== null && ('listening' in message || 'failed' in message);
}
