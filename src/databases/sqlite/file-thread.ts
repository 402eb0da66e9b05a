import { Worker } from 'node:worker_threads';
import { type FailureKind, late, type Operation, SqliteFileError, textOf } from './failure.js';

/**
 * The Node.js flags of a thread. Without them, each thread would print its own warning that
 * node:sqlite is experimental.
 */
export const QUIETLY = ['--disable-warning=ExperimentalWarning'];

/**
 * The functions that read, by name. Their parameters and results must be plain data, because they
 * are sent to another thread.
 */
export type Reads = Readonly<Record<string, (...parameters: never[]) => unknown>>;

/** The data that the thread receives at its start. */
export interface FileThreadData {
  readonly file: string;
  /** Identifies the file. See `identityOf`. */
  readonly identity: string;
  readonly operation: Exclude<Operation, 'open'>;
  /**
   * URLs of modules that export `prepareReads`, `prepareWrites` or both. The functions that these
   * return must all have different names.
   */
  readonly modules: readonly string[];
}

export interface ThreadCall {
  /** Identifies the call in its answer. Absent if no caller waits for the result. */
  readonly id?: number;
  readonly name: string;
  readonly parameters: readonly unknown[];
}

/**
 * A {@link SqliteFileError} in the form in which one thread sends it to another. The error itself
 * would arrive without its `kind`.
 */
export interface SentFailure {
  readonly message: string;
  readonly kind: FailureKind;
}

export type ThreadAnswer = { readonly id: number } & ({ readonly value: unknown } | { readonly failure: SentFailure });

/** A thread that opens a file, and calls functions of the given modules on it. */
export interface FileThread {
  /**
   * Calls a function on the thread. Rejects with a {@link SqliteFileError}, whose kind is `late` if
   * the disk does not respond in time. After that, every call rejects immediately until the thread
   * responds again.
   */
  call(name: string, parameters: readonly unknown[], patienceMs: number): Promise<unknown>;
  /**
   * Calls a function on the thread without waiting for a result. If the thread hangs, the function
   * is called later, when the thread responds again.
   */
  tell(name: string, parameters: readonly unknown[]): void;
  /**
   * Ends the thread. Rejects with the kind `late` if the thread does not end in time, because the
   * disk does not respond.
   */
  close(): Promise<void>;
}

interface Waiting {
  readonly deadlineMs: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * How long the thread may take to close its file. This can take a while, because the last process
 * that closes a file also copies the log into it.
 */
const CLOSE_MS = 5_000;
const CLOSE_HANGING_MS = 500;
const LOOK_EVERY_MS = 250;

/**
 * Creates a thread that starts with the first call, restarts if it dies, and does not keep an idle
 * process alive. If the disk hangs, only this thread hangs.
 */
export function createFileThread(data: FileThreadData): FileThread {
  const { file, operation } = data;
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let lastId = 0;
  let isHanging = false;
  let isWatched = false;

  function settle(id: number): Waiting | undefined {
    const call = waiting.get(id);
    waiting.delete(id);
    if (waiting.size === 0) worker?.unref();
    return call;
  }

  function onAnswer(answer: ThreadAnswer): void {
    isHanging = false;
    const call = settle(answer.id);
    if ('value' in answer) call?.resolve(answer.value);
    else call?.reject(received(answer.failure));
  }

  function rejectAll(error: SqliteFileError): void {
    for (const id of [...waiting.keys()]) settle(id)?.reject(error);
  }

  function start(): Worker {
    const started = new Worker(new URL('./file-worker.js', import.meta.url), { workerData: data, execArgv: QUIETLY });
    started.on('message', onAnswer);
    started.on('error', (error) =>
      rejectAll(new SqliteFileError(`cannot ${operation} ${file}: its thread failed: ${textOf(error)}`, 'other')),
    );
    started.on('exit', () => {
      if (worker === started) worker = undefined;
      rejectAll(new SqliteFileError(`cannot ${operation} ${file}: its thread ended`, 'other'));
    });
    started.unref();
    return started;
  }

  /** Starts one timer for all calls. A timer for each of them would cost too much. */
  function watch(): void {
    if (isWatched || waiting.size === 0) return;
    isWatched = true;
    // `setImmediate` lets Node.js first handle results that arrived while this thread itself was
    // busy.
    setTimeout(() => setImmediate(giveUpLate), LOOK_EVERY_MS).unref();
  }

  function giveUpLate(): void {
    const nowMs = performance.now();
    for (const [id, { deadlineMs }] of waiting) if (deadlineMs <= nowMs) giveUp(id);
    isWatched = false;
    watch();
  }

  function giveUp(id: number): void {
    isHanging = true;
    settle(id)?.reject(late(file, operation));
  }

  return {
    call(name, parameters, patienceMs) {
      if (isHanging) return Promise.reject(late(file, operation));
      return new Promise((resolve, reject) => {
        worker ??= start();
        const id = ++lastId;
        if (waiting.size === 0) worker.ref();
        waiting.set(id, { deadlineMs: performance.now() + patienceMs, resolve, reject });
        watch();
        worker.postMessage({ id, name, parameters } satisfies ThreadCall);
      });
    },

    tell(name, parameters) {
      worker?.postMessage({ name, parameters } satisfies ThreadCall);
    },

    close() {
      const ended = worker;
      if (ended === undefined) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const patienceMs = isHanging ? CLOSE_HANGING_MS : CLOSE_MS;
        const timer = setTimeout(() => {
          ended.unref();
          reject(late(file, operation));
        }, patienceMs);
        ended.ref();
        ended.once('exit', () => {
          clearTimeout(timer);
          resolve();
        });
        ended.postMessage('close');
      });
    },
  };
}

/** Creates an error from a failure that another thread has sent. */
export function received({ message, kind }: SentFailure): SqliteFileError {
  return new SqliteFileError(message, kind);
}
