import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OnBackendError, RedisLimiter } from 'store-orders/redis';
import type { Answered } from './load.js';

export interface LoadingOptions {
  readonly port: number;
  /** The port of the server that does not fail. */
  readonly soundPort: number;
  readonly prefix: string;
  readonly onBackendError: OnBackendError;
  readonly deadlineMs: number;
  /** The quota per hour. */
  readonly quota: number;
  readonly keys: readonly string[];
  readonly perSecond: number;
}

export interface LoadingResult {
  readonly answered: readonly Answered[];
  /** How long each request took with the limiter whose server did not fail. */
  readonly soundMs: readonly number[];
  /** The longest stall of the event loop of the process. */
  readonly stallMs: number;
}

interface Change {
  readonly mode: RedisLimiter['mode'];
  readonly atMs: number;
}

/** Returns the time in milliseconds, on a clock that all processes of this machine share. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Starts a process that sends requests. Resolves when its limiter counts in Redis. */
export async function startLoading(t: TestContext, options: LoadingOptions) {
  const changes: Change[] = [];
  const child = fork(new URL('loading-process.ts', import.meta.url), [JSON.stringify(options)]);
  t.after(() => child.kill('SIGKILL'));
  const done = new Promise<LoadingResult>((resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`the process that sends requests has ended with exit code ${code}`)));
    child.on('message', (message: Change | LoadingResult) => {
      if ('mode' in message) changes.push(message);
      else resolve(message);
    });
  });
  done.catch(() => {});
  await Promise.race([once(child, 'message'), done]);

  /**
   * Resolves when the limiter counts in Redis again, and has reported to Redis the requests that it
   * allowed during the outage.
   */
  async function sharedAgain(): Promise<void> {
    const sinceMs = nowMs();
    const isShared = () => (changes.at(-1)?.mode ?? 'shared') === 'shared';
    do {
      while (!isShared() && nowMs() - sinceMs < 20_000) await sleep(5);
      await sleep(100);
    } while (!isShared() && nowMs() - sinceMs < 20_000);
  }

  await sharedAgain();
  changes.length = 0;
  child.send('start');
  return {
    changes: () => changes as readonly Change[],
    sharedAgain,
    async stop(): Promise<LoadingResult> {
      child.send('stop');
      const result = await done;
      // On a busy machine the limiter may have stopped using its server once more.
      await sharedAgain();
      child.disconnect();
      return result;
    },
  };
}
