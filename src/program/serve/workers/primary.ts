import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../message-of.js';
import { type CommandResult, failed } from '../../command-result.js';
import type { Log, LogFields } from '../../log/log.js';
import { WORKER_VARIABLE } from '../../settings/read-settings.js';
import type { Settings } from '../../settings/settings.js';
import { isWorkerMessage } from '../lifecycle.js';
import { listenForMetrics, loadMetrics } from '../metrics-port.js';
import { firstSignal } from '../signals.js';
import { takeBackAtEnd } from './handed-over.js';
import { watchWorker } from './watch-worker.js';
import { collectMetrics } from './worker-metrics.js';

/** The shortest time between two starts of a worker. */
const RESTART_MS = 1_000;
/** A worker that takes longer to stop is killed. A server needs less time to drain. */
const STOP_MS = 9_000;

/**
 * Runs the program in several workers with this process's arguments, on one port. This process
 * accepts the connections and hands them to the workers. It replaces a worker that exits, and kills
 * one that does not respond. At a signal, it stops accepting connections. Each worker then finishes
 * the requests on its connections, and exits.
 */
export async function runPrimary({ workers: count, host, metricsPort }: Settings, log: Log): Promise<CommandResult> {
  const running = new Set<RunningWorker>();
  let isStopping = false;
  if (!cluster.isPrimary) {
    return failed('a worker of another cluster cannot start workers; leave out --workers, or -i of pm2');
  }

  function start(number: number): RunningWorker {
    const started = startWorker(number);
    const { worker, ended, listening } = started;
    running.add(started);
    void ended.then(() => running.delete(started));
    const isOther = (other: RunningWorker) => other !== started && other.isListening && other.worker.isConnected();
    takeBackAtEnd(worker, () => !isStopping && Array.from(running).some(isOther));
    const killSilent = () => {
      log.error('worker does not respond', { worker: number });
      worker.process.kill('SIGKILL');
    };
    listening.then(() => ended.then(watchWorker(worker, killSilent))).catch(() => {});
    return started;
  }

  /** Replaces the worker when it ends. */
  async function keepRunning({ number, ended, pause }: RunningWorker): Promise<void> {
    const exit = await ended;
    if (isStopping) return;
    log.error('worker ended', { worker: number, ...exit });
    await pause;
    if (isStopping) return;
    const worker = start(number);
    void keepRunning(worker);
    await worker.listening.then(
      () => log.event('worker replaced', { worker: number }),
      (error) => log.error('worker cannot start', { worker: number, error: messageOf(error) }),
    );
  }

  function killAll(): void {
    for (const { worker } of running) worker.process.kill('SIGKILL');
  }

  try {
    const metrics = metricsPort === undefined ? undefined : await loadMetrics();
    // The first worker starts alone, because only one may remove the socket of a killed server.
    const first = start(1);
    const listening = await first.listening;
    const workers = [first, ...Array.from({ length: count - 1 }, (_, index) => start(index + 2))];
    await Promise.all(workers.map((worker) => worker.listening));
    const metricsPage = metrics && (await listenForMetrics(collectMetrics(metrics.addUp), host, metricsPort));
    const signal = firstSignal(killAll);
    for (const worker of workers) void keepRunning(worker);
    log.event('listening', { ...listening, metrics: metricsPage?.url, workers: count });

    log.event('stopping', { signal: await signal });
    isStopping = true;
    metricsPage?.close();
    const killTimer = setTimeout(killAll, STOP_MS);
    const unclean = (await Promise.all(Array.from(running, stop))).filter(({ code }) => code !== 0);
    clearTimeout(killTimer);
    for (const exit of unclean) log.error('worker ended', exit);
    log.event('stopped');
    return unclean.length === 0 ? { exitCode: 0 } : failed('a worker did not stop cleanly; the log names it');
  } catch (error) {
    return failed(messageOf(error));
  } finally {
    killAll();
  }
}

type RunningWorker = ReturnType<typeof startWorker>;

function startWorker(number: number) {
  const worker = cluster.fork({ [WORKER_VARIABLE]: `${number}` });
  /** Resolves when a replacement may start. */
  const pause = sleep(RESTART_MS, undefined, { ref: false });
  type Exit = { readonly code?: number; readonly signal?: string; readonly error?: string };
  const ended = new Promise<Exit>((resolve) => {
    worker.on('exit', (code, signal) => resolve(signal ? { signal } : { code }));
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) resolve({ error: messageOf(error) });
    });
  });
  /** Resolves to fields for the log when the worker listens. Rejects if it cannot serve. */
  const listening = new Promise<LogFields>((resolve, reject) => {
    worker.on('message', (message: unknown) => {
      if (!isWorkerMessage(message)) return;
      if ('failed' in message) reject(new Error(message.failed));
      if (!('listening' in message)) return;
      started.isListening = true;
      resolve(message.listening);
    });
    void ended.then(({ code, signal, error }) => {
      reject(new Error(`worker ${number} ended before it was ready: ${error ?? signal ?? `exit code ${code}`}`));
    });
  });
  const started = { number, worker, listening, ended, pause, isListening: false };
  return started;
}

async function stop({ number, worker, ended, isListening }: RunningWorker) {
  if (isListening) worker.send('drain');
  else worker.process.kill('SIGKILL');
  // The port closes when the last worker is disconnected, so all workers are disconnected now and
  // not when they exit. A connection that was handed to a worker is still served, because it
  // reaches the worker before the message `drain`.
  worker.disconnect();
  const exit = await ended;
  return { worker: number, ...(isListening ? exit : { code: 0 }) };
}
