import { EventEmitter, once } from 'node:events';
import type { MessagePort, Worker, WorkerOptions } from 'node:worker_threads';
import { ifBundled, messageOf } from '../../message-of.js';
import { type Call, createRemote, type Remote } from './calls.js';
import { failureOf, lateError, SqliteFileError } from './failure.js';
import { type FileWorkerData, operationOf, type WorkerAnswer } from './worker.js';

/** Starts a thread whose module calls `runParts`. */
export type StartThread = (options: WorkerOptions) => Worker;

interface WaitingCall {
  readonly patienceMs: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** How long a thread may take to start and to load its modules, even if all cores are busy. */
const START_MS = 60_000;
/** How long a call may take after the calls before it have ended, or after a sign that the thread runs. */
const PATIENCE_MS = 3_000;
/** How much longer a call may take for each record that it stores. */
const RECORD_MS = 1;
/** How long closing may take. The last process to close a file first copies the log into it. */
const CLOSE_MS = { starting: START_MS, running: 5_000 } as const;

/**
 * The options of a worker. Flags of the host would start its tracer in each worker too, and Deno
 * knows none of ours. A host that resolves packages by Plug'n'Play needs its own.
 */
const OPTIONS: WorkerOptions =
  process.versions['pnp'] === undefined
    ? // Each worker would print its own warning that node:sqlite is experimental.
      { execArgv: [], env: { ...process.env, NODE_NO_WARNINGS: '1' } }
    : {};

/**
 * A worker that runs `Parts` on a file. It starts with `start` or the first call, restarts if it
 * dies, and does not keep an idle process alive. If the disk hangs, only the worker hangs: the
 * waiting calls reject as `late`, and later calls reject immediately, and are not sent, until the
 * worker responds again.
 */
export class FileWorker<Parts> {
  readonly #startThread: StartThread;
  readonly #data: FileWorkerData;
  readonly #waiting = new Map<number, WaitingCall>();
  readonly #unsent: Call<Parts>[] = [];
  #lastId = 0;
  #worker: Worker | undefined;
  #state: keyof typeof CLOSE_MS = 'starting';
  /** Why calls fail at once, until the worker responds again. */
  #hanging: SqliteFileError | undefined;
  #isClosed = false;
  #deadline: NodeJS.Timeout | undefined;
  readonly #events = new EventEmitter<{ idle: [] }>();
  #lastFailure: SqliteFileError | undefined;

  constructor(startThread: StartThread, data: FileWorkerData) {
    this.#startThread = startThread;
    this.#data = data;
  }

  /** The last failure, until the worker answers without one. `damaged` stays, as the damage does. */
  get lastFailure(): SqliteFileError | undefined {
    return this.#lastFailure;
  }

  start(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = this.#startThread({ ...OPTIONS, workerData: this.#data });
    worker.unref();
    worker.on('message', (answers: readonly WorkerAnswer[]) => this.#receive(answers));
    worker.on('error', (error) => this.#rejectAll(this.#threadFailure(error)));
    worker.on('exit', () => {
      this.#worker = undefined;
      this.#state = 'starting';
      this.#hanging = undefined;
      this.#rejectAll(this.#failure('its worker thread ended'));
    });
    this.#worker = worker;
    return worker;
  }

  /** Returns the objects in the worker, for calls that store this number of records. */
  callsFor(records: number): Remote<Parts> {
    const patienceMs = PATIENCE_MS + RECORD_MS * records;
    return createRemote((call) => this.#ask(patienceMs, (id) => this.#send({ id, ...call })));
  }

  /** Ends the worker after the calls made so far. Rejects if it fails, as `late` if the disk does not respond. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#waiting.size > 0) await once(this.#events, 'idle');
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    worker.postMessage('close');
    const signal = AbortSignal.timeout(this.#hanging === undefined ? CLOSE_MS[this.#state] : 0);
    try {
      await once(worker, 'exit', { signal });
    } catch (error) {
      worker.unref();
      throw signal.aborted ? (this.#hanging ?? this.#late()) : this.#threadFailure(error);
    }
  }

  #ask(patienceMs: number, send: (id: number) => void): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(this.#failure('it is closed already'));
    if (this.#hanging !== undefined) return Promise.reject(this.#hanging);
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { patienceMs, resolve, reject });
      this.start().ref();
      if (this.#waiting.size === 1) this.#watchFirst();
      send(id);
    });
  }

  /** Sends the calls of one pass of the event loop in one message. */
  #send(call: Call<Parts>): void {
    if (this.#unsent.length === 0) setImmediate(() => this.#post(this.#unsent.splice(0)));
    this.#unsent.push(call);
  }

  #post(calls: readonly Call<Parts>[]): void {
    try {
      // If the worker has ended meanwhile, these calls have been rejected.
      this.#worker?.postMessage(calls);
    } catch (error) {
      // A caller without types may give a promise, for example, instead of an id. Only its call fails.
      if (calls.length > 1) for (const call of calls) this.#post([call]);
      else for (const { id } of calls) this.#settle({ id, failure: this.#failure(messageOf(error)) });
      this.#watchFirst();
    }
  }

  /**
   * A message without answers says that the worker runs: its first one, and those that it sends
   * while a write waits for the lock of another process.
   */
  #receive(answers: readonly WorkerAnswer[]): void {
    this.#state = 'running';
    this.#hanging = undefined;
    if (answers.length > 0) this.#note(undefined);
    for (const answer of answers) this.#settle(answer);
    this.#watchFirst();
  }

  #settle(answer: WorkerAnswer): void {
    const call = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ('value' in answer) call?.resolve(answer.value);
    else if ('items' in answer) {
      if (call === undefined) answer.items.close();
      else call.resolve(this.#iterate(answer.items, this.#worker));
    } else {
      const failure = new SqliteFileError(answer.failure.message, answer.failure.kind);
      call?.reject(failure);
      this.#note(failure);
    }
  }

  #note(failure: SqliteFileError | undefined): void {
    if (this.#lastFailure?.kind !== 'damaged') this.#lastFailure = failure;
  }

  /**
   * Yields the items of a generator in the worker. Each message on its port requests an item. Even a
   * worker that hangs ends the generator, once it responds again and sees that the port is closed.
   */
  async *#iterate(port: MessagePort, worker: Worker | undefined): AsyncGenerator<unknown, void> {
    try {
      for (;;) {
        if (this.#worker !== worker) throw this.#failure('its worker thread ended');
        const item = await this.#ask(PATIENCE_MS, (id) => port.postMessage(id));
        if (item === undefined) return;
        yield item;
      }
    } finally {
      port.close();
    }
  }

  #rejectAll(error: SqliteFileError): void {
    if (this.#waiting.size > 0) this.#note(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#watchFirst();
  }

  /**
   * Starts the deadline of the first waiting call, which the worker carries out from now on. If no
   * call is waiting, the worker no longer keeps the process alive, until `close` waits for its end.
   */
  #watchFirst(): void {
    clearTimeout(this.#deadline);
    const [first] = this.#waiting;
    if (first === undefined) {
      if (!this.#isClosed) this.#worker?.unref();
      this.#events.emit('idle');
      return;
    }
    const [id, { patienceMs }] = first;
    // `setImmediate` lets Node.js first handle a result that arrived while this thread was busy.
    const onDeadline = () => setImmediate(() => this.#rejectLate(id));
    this.#deadline = setTimeout(onDeadline, this.#state === 'running' ? patienceMs : START_MS).unref();
  }

  #rejectLate(id: number): void {
    if (!this.#waiting.has(id)) return;
    this.#hanging = this.#late();
    this.#rejectAll(this.#hanging);
  }

  #late(): SqliteFileError {
    const hasStarted = this.#state === 'running';
    const cause = hasStarted
      ? 'its disk has not responded in time; check the disk'
      : `its thread does not start${ifBundled}`;
    return lateError(this.#data.file, operationOf(this.#data), cause);
  }

  #threadFailure(error: unknown): SqliteFileError {
    const isMissing = this.#state === 'starting' && String(Object(error).code).endsWith('MODULE_NOT_FOUND');
    return this.#failure(`its worker thread failed: ${messageOf(error)}${isMissing ? ifBundled : ''}`);
  }

  #failure(reason: string): SqliteFileError {
    return failureOf(new Error(reason), this.#data.file, operationOf(this.#data));
  }
}
