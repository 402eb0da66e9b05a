import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { late, SqliteFileError, textOf } from './failure.js';
import type { FileWorkerData, SentFailure, WorkerAnswer, WorkerCall } from './worker.js';

/**
 * The Node.js flags of a thread. Without them, each thread would print its own warning that
 * node:sqlite is experimental.
 */
const NO_SQLITE_WARNING = ['--disable-warning=ExperimentalWarning'];

/** The objects that a worker hosts, as other threads call them. */
export type Remote<Parts> = {
  readonly [Part in keyof Parts]: {
    readonly [Method in keyof Parts[Part]]: Parts[Part][Method] extends (...parameters: infer Taken) => infer Result
      ? (...parameters: Taken) => Promise<Awaited<Result>>
      : never;
  };
};

/** A worker that hosts `Parts`. It opens the database file. */
export interface FileWorker<Parts> {
  /**
   * Calls the objects in the worker. A call rejects with a {@link SqliteFileError}, whose kind is
   * `late` if the disk does not respond in time. After that, every call rejects immediately, and is
   * not sent, until the worker responds again.
   */
  readonly call: Remote<Parts>;
  /**
   * Ends the worker after the calls made so far. Rejects with the kind `late` if the worker does
   * not end in time, because the disk does not respond.
   */
  close(): Promise<void>;
}

interface Waiting {
  readonly sentMs: number;
  readonly patienceMs: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * How long a call may take after the calls before it have ended. A write gets more time than a
 * read: an fsync of a busy disk takes a while, and after a timeout the caller does not know whether
 * the write was done. Each record to store adds to the time.
 */
const PATIENCE_MS = { read: 2_000, write: 3_000 };
const RECORD_MS = 1;
/**
 * How long the worker may take to close its file. This can take a while, because the last process
 * that closes a file also copies the log into it.
 */
const CLOSE_MS = 5_000;
const CLOSE_HANGING_MS = 500;
const CHECK_EVERY_MS = 250;

/**
 * Creates a worker from the module at `url`, which calls `hostParts`. The worker starts with the
 * first call, restarts if it dies, and does not keep an idle process alive. If the disk hangs, only
 * the worker hangs. `onAnswers` receives the failures of the calls that settle together, with
 * `undefined` for each call that succeeded.
 */
export function createFileWorker<Parts>(
  url: URL,
  data: FileWorkerData,
  onAnswers: (failures: readonly (SqliteFileError | undefined)[]) => void,
): FileWorker<Parts> {
  const { file, operation } = data;
  const waiting = new Map<number, Waiting>();
  let unsent: WorkerCall[] = [];
  let worker: Worker | undefined;
  let lastId = 0;
  let lastAnswerMs = 0;
  let isHanging = false;
  let isWatched = false;
  let isClosed = false;
  let onIdle = () => worker?.unref();

  function settle(id: number): Waiting | undefined {
    const call = waiting.get(id);
    waiting.delete(id);
    if (waiting.size === 0) onIdle();
    return call;
  }

  function receive(answers: readonly WorkerAnswer[]): void {
    isHanging = false;
    lastAnswerMs = performance.now();
    const failures: (SqliteFileError | undefined)[] = [];
    for (const answer of answers) {
      const call = settle(answer.id);
      const failure = 'failure' in answer ? failureFromThread(answer.failure) : undefined;
      failures.push(failure);
      if ('value' in answer) call?.resolve(answer.value);
      else call?.reject(failure);
    }
    onAnswers(failures);
  }

  function rejectAll(error: SqliteFileError): void {
    for (const id of [...waiting.keys()]) settle(id)?.reject(error);
  }

  function failureOfThread(text: string): SqliteFileError {
    return new SqliteFileError(`cannot ${operation} ${file}: its thread ${text}`, 'other');
  }

  function start(): Worker {
    const started = new Worker(url, { workerData: data, execArgv: NO_SQLITE_WARNING });
    started.on('message', receive);
    started.on('error', (error) => rejectAll(failureOfThread(`failed: ${textOf(error)}`)));
    started.on('exit', () => {
      worker = undefined;
      isHanging = false;
      rejectAll(failureOfThread('ended'));
    });
    started.unref();
    return started;
  }

  /** Sends the calls of one pass of the event loop in one message. */
  function flush(): void {
    worker ??= start();
    worker.ref();
    worker.postMessage(unsent);
    unsent = [];
  }

  /** Starts one timer for all calls. A timer for each of them would cost too much. */
  function watch(): void {
    if (isWatched || waiting.size === 0) return;
    isWatched = true;
    // `setImmediate` lets Node.js first handle results that arrived while this thread itself was
    // busy.
    setTimeout(() => setImmediate(rejectLate), CHECK_EVERY_MS).unref();
  }

  /** Rejects all calls if the worker has worked on the first of them for too long. */
  function rejectLate(): void {
    const [first] = waiting.values();
    if (first !== undefined && performance.now() - Math.max(first.sentMs, lastAnswerMs) >= first.patienceMs) {
      isHanging = true;
      const error = late(file, operation);
      rejectAll(error);
      onAnswers([error]);
    }
    isWatched = false;
    watch();
  }

  function call(part: string, method: string, parameters: readonly unknown[]): Promise<unknown> {
    if (isClosed) return Promise.reject(failureOfThread('was closed'));
    if (isHanging) return Promise.reject(late(file, operation));
    return new Promise((resolve, reject) => {
      const id = ++lastId;
      const patienceMs = PATIENCE_MS[operation] + RECORD_MS * recordsIn(parameters);
      waiting.set(id, { sentMs: performance.now(), patienceMs, resolve, reject });
      watch();
      if (unsent.length === 0) setImmediate(flush);
      unsent.push({ id, part, method, parameters });
    });
  }

  return {
    call: proxyOf<Remote<Parts>>(call),

    async close() {
      isClosed = true;
      if (waiting.size > 0) await new Promise<void>((resolve) => (onIdle = resolve));
      if (worker === undefined) return;
      const ended = worker;
      const exited = once(ended, 'exit').then(() => true);
      ended.ref();
      ended.postMessage('close');
      const deadline = delay(isHanging ? CLOSE_HANGING_MS : CLOSE_MS, false, { ref: false });
      if (await Promise.race([exited, deadline])) return;
      ended.unref();
      throw late(file, operation);
    },
  };
}

/** Creates an object of objects whose methods call `send`. */
function proxyOf<Parts extends object>(
  send: (part: string, method: string, parameters: readonly unknown[]) => unknown,
): Parts {
  const nothing: Parts = Object.create(null);
  const methodsOf = (part: string) =>
    new Proxy<object>(nothing, {
      get(_, method) {
        // `await` looks for this method to find out whether an object is a promise.
        if (method === 'then') return undefined;
        return (...parameters: unknown[]) => send(part, String(method), parameters);
      },
    });
  return new Proxy(nothing, { get: (_, part) => (part === 'then' ? undefined : methodsOf(String(part))) });
}

function recordsIn(parameters: readonly unknown[]): number {
  return parameters.reduce<number>((records, value) => records + (Array.isArray(value) ? value.length : 0), 0);
}

function failureFromThread({ message, kind }: SentFailure): SqliteFileError {
  return new SqliteFileError(message, kind);
}
