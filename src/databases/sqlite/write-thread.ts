import { Worker } from 'node:worker_threads';
import type { WriteCall, WriteResult } from './write-batch.js';

/** Node says once a thread that node:sqlite is experimental; whether it is said at all is the main thread's affair. */
export const QUIETLY = ['--disable-warning=ExperimentalWarning'];

/** What the worker is told at its start. */
export interface WriteThreadData {
  readonly file: string;
  /** URLs of modules, each with a `prepareWrites(database)`; the names of their writes differ. */
  readonly modules: readonly string[];
}

export interface WriteThread {
  /** Commits the calls together, on the thread. One batch at a time. Rejects if the thread could not answer. */
  commit(calls: readonly WriteCall[]): Promise<readonly WriteResult[]>;
  close(): Promise<void>;
}

/**
 * A thread that opens the file a second time and commits there, so that an fsync, which on a slow disk takes tens of
 * milliseconds, does not stop the event loop. It starts with the first commit, starts again if it should die, and does
 * not keep the process alive while it has nothing to do.
 */
export function createWriteThread(data: WriteThreadData): WriteThread {
  let worker: Worker | undefined;
  let answer: { resolve(results: readonly WriteResult[]): void; reject(error: unknown): void } | undefined;

  function start(): Worker {
    const started = new Worker(new URL('./write-worker.js', import.meta.url), { workerData: data, execArgv: QUIETLY });
    started.on('message', (results: readonly WriteResult[]) => {
      started.unref();
      answer?.resolve(results);
      answer = undefined;
    });
    started.on('error', (error) => answer?.reject(error));
    started.on('exit', () => {
      worker = undefined;
      answer?.reject(new Error('the thread that writes ended before it answered'));
      answer = undefined;
    });
    return started;
  }

  return {
    commit: (calls) =>
      new Promise((resolve, reject) => {
        answer = { resolve, reject };
        worker ??= start();
        worker.ref();
        worker.postMessage(calls);
      }),

    async close() {
      const ended = worker;
      if (ended === undefined) return;
      ended.ref();
      const exited = new Promise((resolve) => ended.once('exit', resolve));
      ended.postMessage('close');
      await exited;
    },
  };
}
