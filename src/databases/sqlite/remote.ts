import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../message-of.js';
import { lateError, SqliteFileError } from './failure.js';
import type { FileWorkerData, WorkerAnswer, WorkerCall } from './worker.js';

/** The objects that a worker hosts, as other threads call them. */
export type Remote<Parts> = {
  readonly [Part in keyof Parts]: {
    readonly [Method in keyof Parts[Part]]: Parts[Part][Method] extends (...parameters: infer Taken) => infer Result
      ? (...parameters: Taken) => Promise<Awaited<Result>>
      : never;
  };
};

/** A worker that hosts `Parts`. */
export interface FileWorker<Parts> {
  /**
   * Calls the objects in the worker. A call rejects with a {@link SqliteFileError}, whose kind is
   * `late` if the disk does not respond in time. After that, every call rejects immediately, and is
   * not sent, until the worker responds again.
   */
  readonly call: Remote<Parts>;
  /** Starts the worker, which would otherwise start with the first call. */
  start(): void;
  /** Ends the worker after the calls made so far. Rejects as `late` if the disk does not respond. */
  close(): Promise<void>;
}

interface WaitingCall {
  readonly patienceMs: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * How long a call may take after the calls before it have ended. It is longer than a write waits
 * for the lock of another process. Each record to store adds `RECORD_MS`.
 */
const PATIENCE_MS = 3_000;
const RECORD_MS = 1;
/** Closing may take longer, because the last process to close a file copies the log into it. */
const CLOSE_MS = 5_000;

/**
 * Creates a worker from the module at `url`, which calls `hostParts`. The worker starts with `start`
 * or the first call, restarts if it dies, and does not keep an idle process alive. If the disk
 * hangs, only the worker hangs. `onAnswers` receives the failures of the calls that settle together,
 * with `undefined` for each call that succeeded.
 */
export function createFileWorker<Parts>(
  url: URL,
  workerData: FileWorkerData,
  onAnswers: (failures: readonly (SqliteFileError | undefined)[]) => void,
): FileWorker<Parts> {
  const { file, operation } = workerData;
  const waiting = new Map<number, WaitingCall>();
  let unsent: WorkerCall[] = [];
  let worker: Worker | undefined;
  let lastId = 0;
  let isHanging = false;
  let watchdog: NodeJS.Timeout | undefined;
  let isClosed = false;
  let onIdle = () => worker?.unref();

  function settle(id: number): WaitingCall | undefined {
    const call = waiting.get(id);
    waiting.delete(id);
    if (waiting.size === 0) onIdle();
    return call;
  }

  function receive(answers: readonly WorkerAnswer[]): void {
    isHanging = false;
    const failures = answers.map((answer) => {
      const call = settle(answer.id);
      if ('value' in answer) {
        call?.resolve(answer.value);
        return undefined;
      }
      const failure = new SqliteFileError(answer.failure.message, answer.failure.kind);
      call?.reject(failure);
      return failure;
    });
    watchFirst();
    onAnswers(failures);
  }

  function rejectAll(error: SqliteFileError): void {
    if (waiting.size === 0) return;
    for (const id of [...waiting.keys()]) settle(id)?.reject(error);
    onAnswers([error]);
  }

  function failureBecause(reason: string): SqliteFileError {
    return new SqliteFileError(`cannot ${operation} ${file}: ${reason}`, 'other');
  }

  function start(): Worker {
    if (worker !== undefined) return worker;
    // Each thread would print its own warning that node:sqlite is experimental.
    const started = new Worker(url, { workerData, execArgv: ['--disable-warning=ExperimentalWarning'] });
    started.on('message', receive);
    started.on('error', (error) => rejectAll(failureBecause(`its worker thread failed: ${messageOf(error)}`)));
    started.on('exit', () => {
      worker = undefined;
      isHanging = false;
      rejectAll(failureBecause('its worker thread ended'));
    });
    worker = started;
    return started;
  }

  /** Sends the calls of one pass of the event loop in one message. */
  function flush(): void {
    const receiver = start();
    receiver.ref();
    receiver.postMessage(unsent);
    unsent = [];
  }

  /** Starts the deadline of the first waiting call, which the worker carries out from now on. */
  function watchFirst(): void {
    clearTimeout(watchdog);
    const [first] = waiting;
    if (first === undefined) return;
    const [id, { patienceMs }] = first;
    // `setImmediate` lets Node.js first handle a result that arrived while this thread was busy.
    watchdog = setTimeout(() => setImmediate(rejectLate, id), patienceMs).unref();
  }

  function rejectLate(id: number): void {
    if (!waiting.has(id)) return;
    isHanging = true;
    rejectAll(lateError(file, operation));
  }

  function call(part: string, method: string, parameters: readonly unknown[]): Promise<unknown> {
    if (isClosed) return Promise.reject(failureBecause('it is closed already'));
    if (isHanging) return Promise.reject(lateError(file, operation));
    return new Promise((resolve, reject) => {
      const id = ++lastId;
      const records = parameters.find(Array.isArray)?.length ?? 0;
      waiting.set(id, { patienceMs: PATIENCE_MS + RECORD_MS * records, resolve, reject });
      if (waiting.size === 1) watchFirst();
      if (unsent.length === 0) setImmediate(flush);
      unsent.push({ id, part, method, parameters });
    });
  }

  return {
    call: proxyOf<Remote<Parts>>((part) =>
      proxyOf(
        (method) =>
          (...parameters: unknown[]) =>
            call(part, method, parameters),
      ),
    ),

    start: () => start().unref(),

    async close() {
      isClosed = true;
      if (waiting.size > 0) await new Promise<void>((resolve) => (onIdle = resolve));
      if (worker === undefined) return;
      const ended = worker;
      ended.ref();
      ended.postMessage('close');
      try {
        await once(ended, 'exit', { signal: AbortSignal.timeout(isHanging ? 0 : CLOSE_MS) });
      } catch {
        ended.unref();
        throw lateError(file, operation);
      }
    },
  };
}

/** Creates an object whose properties `get` computes from their names. */
function proxyOf<T extends object>(get: (name: string) => unknown): T {
  const target: T = Object.create(null);
  return new Proxy(target, { get: (_, name) => get(String(name)) });
}
