import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { SqliteFileError } from 'store-orders/sqlite';
import type { Call } from '../../../dist/databases/sqlite/calls.js';
import { FileWorker } from '../../../dist/databases/sqlite/remote.js';
import type { WorkerAnswer } from '../../../dist/databases/sqlite/worker.js';
import { ROUNDS } from '../../support/rounds.js';
import { play, type Scheduler } from './support/play.js';

/** The objects that the played thread runs: a file to which numbers are added. */
interface Parts {
  readonly orders: { put(number: number): number; reject(): void; list(): Generator<number> };
}

/** A thread that carries out what it is sent, and whose answers arrive, when the scheduler says so. */
class PlayedThread extends EventEmitter {
  readonly #s: Scheduler;
  readonly #stored: number[];
  readonly #inbox: (() => void)[] = [];
  readonly #answers: (readonly WorkerAnswer[])[] = [];
  #stalled = 0;
  #isDead = false;
  hasFailed = false;
  isHanging = false;
  isGone = false;
  /** The lists that this thread has begun and nobody has ended. */
  readonly ports = new Set<object>();

  constructor(s: Scheduler, stored: number[]) {
    super();
    this.#s = s;
    this.#stored = stored;
    this.#receive(() => this.#answer([]));
  }

  ref(): void {}
  unref(): void {}

  /** Whether a call can be waiting for this thread. */
  get isBusy(): boolean {
    return !this.isGone && (this.#isDead || this.#inbox.length > 0 || this.#answers.length > 0);
  }

  postMessage(message: readonly Call<Parts>[] | 'close'): void {
    this.#receive(() => (message === 'close' ? this.end() : this.#answer(message.map((call) => this.#carryOut(call)))));
  }

  resume(): void {
    this.isHanging = false;
    for (; this.#stalled > 0; this.#stalled--) this.#work();
  }

  /** Ends the thread. What it has not sent yet is lost, and what arrives before its end is not. */
  async end(error?: Error): Promise<void> {
    if (this.#isDead) return;
    this.#isDead = true;
    await this.#s.schedule(Promise.resolve(), 'end');
    // Each event has a turn of its own.
    await turn();
    if (error !== undefined) {
      this.hasFailed = true;
      this.emit('error', error);
      await turn();
    }
    this.isGone = true;
    this.emit('exit', 0);
  }

  #receive(message: () => void): void {
    this.#inbox.push(message);
    this.#work();
  }

  async #work(): Promise<void> {
    await this.#s.schedule(Promise.resolve(), 'thread');
    if (this.isHanging) this.#stalled++;
    else if (!this.#isDead) this.#inbox.shift()?.();
  }

  async #answer(answers: readonly WorkerAnswer[]): Promise<void> {
    this.#answers.push(answers);
    await this.#s.schedule(Promise.resolve(), 'answer');
    if (!this.isGone) this.emit('message', this.#answers.shift());
  }

  #carryOut({ id, method, parameters: [number] }: Call<Parts>): WorkerAnswer {
    if (method === 'list') return { id, items: Object(this.#openPort()) };
    if (method === 'reject') return { id, failure: { message: 'a constraint failed', kind: 'other' } };
    this.#stored.push(Number(number));
    return { id, value: number };
  }

  #openPort() {
    const items = [...this.#stored].values();
    const port = {
      postMessage: (id: number) => this.#receive(() => this.#answer([{ id, value: items.next().value }])),
      close: () => this.ports.delete(port),
    };
    this.ports.add(port);
    return port;
  }
}

function createFile(s: Scheduler) {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  const stored: number[] = [];
  const acknowledged: number[] = [];
  const threads: PlayedThread[] = [];
  const unsettled = new Set<object>();
  let puts = 0;
  let ended = 0;
  let pending = 0;
  let isClosed = false;
  let failed: unknown;
  const startThread = () => {
    assert.ok(
      threads.every(({ isGone }) => isGone),
      'one thread at a time',
    );
    threads.push(new PlayedThread(s, stored));
    return Object(threads.at(-1));
  };
  const worker = new FileWorker<Parts>(startThread, { file: 'a.db', identity: '', isWriter: true });
  const { orders } = worker.callsFor(0);

  function checkFailure(error: unknown, hasClosed = false): void {
    if (!(error instanceof SqliteFileError)) throw error;
    if (error.kind === 'late') assert.ok(threads.at(-1)?.isBusy, 'late, although the thread has nothing to do');
    else if (error.message.endsWith('closed already')) assert.ok(isClosed);
    else if (error.message !== 'a constraint failed')
      assert.ok((ended > 0 || hasClosed) && /its worker thread (?:failed|ended)/.test(error.message), error.message);
  }

  async function note<T>(call: Promise<T>): Promise<T> {
    unsettled.add(call);
    try {
      return await call;
    } catch (error) {
      checkFailure(error);
      throw error;
    } finally {
      assert.ok(unsettled.delete(call));
    }
  }

  async function put(number: number): Promise<void> {
    assert.equal(await note(orders.put(number)), number, 'the answer to another call');
    assert.ok(stored.includes(number), 'acknowledged, but not stored');
    acknowledged.push(number);
  }

  async function reject(): Promise<void> {
    await note(orders.reject());
    assert.fail('what the file rejects is acknowledged');
  }

  async function list(isWhole: boolean): Promise<void> {
    const known = [...acknowledged];
    const items = await note(orders.list());
    await s.schedule(Promise.resolve(), 'reader');
    const listed: number[] = [];
    try {
      for await (const item of items) {
        listed.push(item);
        if (!isWhole) break;
      }
    } catch (error) {
      checkFailure(error, isClosed);
      throw error;
    }
    assert.deepEqual(listed, stored.slice(0, listed.length));
    const lost = known.filter((number) => !listed.includes(number));
    if (isWhole) assert.deepEqual(lost, [], 'acknowledged, but not listed');
  }

  async function close(): Promise<void> {
    const before = [...unsettled];
    const running = threads.find(({ isGone, hasFailed }) => !isGone && !hasFailed);
    isClosed = true;
    try {
      await worker.close();
      assert.ok(
        threads.every(({ isGone }) => isGone),
        'a thread runs on',
      );
    } catch (error) {
      checkFailure(error);
      const isLate = error instanceof SqliteFileError && error.kind === 'late';
      assert.ok(!isLate || !running?.hasFailed, 'late, although the thread has failed');
      throw error;
    } finally {
      assert.ok(!before.some((call) => unsettled.has(call)), 'a call before the close has not settled');
    }
  }

  async function track(call: Promise<void>): Promise<void> {
    pending++;
    await call.catch((error) => {
      if (!(error instanceof SqliteFileError)) failed ??= error;
    });
    pending--;
  }

  return {
    act({ act, ms }: { readonly act: string; readonly ms: number }) {
      if (failed !== undefined) throw failed;
      mock.timers.tick(ms);
      const thread = threads.at(-1);
      if (act === 'put') track(put(++puts));
      else if (act === 'reject') track(reject());
      else if (act === 'list' || act === 'begin a list') track(list(act === 'list'));
      else if (act === 'close') track(close());
      else if (act === 'hang' && thread !== undefined) thread.isHanging = true;
      else if (act === 'resume') thread?.resume();
      else if (act === 'end' || act === 'fail') {
        ended++;
        thread?.end(act === 'end' ? undefined : new Error('out of memory'));
      }
    },
    pending() {
      if (s.count() === 0) mock.timers.tick(3_000);
      if (failed !== undefined) throw failed;
      if (pending > 0) return pending;
      for (const { isGone, isBusy, ports } of threads) assert.ok(isGone || isBusy || ports.size === 0, 'an open port');
      return pending;
    },
  };
}

test('in any order of calls, answers, deadlines, hangs, ends and failures of the thread of a file, each call settles once, nothing acknowledged is lost, and close waits', async (t) => {
  t.after(() => {
    mock.timers.reset();
    mock.restoreAll();
  });
  mock.method(AbortSignal, 'timeout', (ms: number) => {
    const late = new AbortController();
    setTimeout(() => late.abort(), ms);
    return late.signal;
  });
  const calls = ['put', 'put', 'put', 'list', 'begin a list', 'reject'];
  const act = fc.constantFrom(...calls, ...calls, 'hang', 'resume', 'end', 'fail', 'close');
  // How much time passes before it.
  const ms = fc.constantFrom(0, 0, 0, 0, 1_500, 3_000);
  await play(fc.record({ act, ms }), createFile, 40 * ROUNDS);
});
