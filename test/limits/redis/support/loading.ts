import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LimiterMode } from 'store-orders/redis';

export interface LoadingOptions {
  readonly port: number;
  readonly prefix: string;
  readonly perSecond: number;
  /** The quota per hour of the key `scarce`. */
  readonly quota: number;
}

export interface LoadingResult {
  /** The numbers of responses by status, for keys with plenty of quota and for the key `scarce`. */
  readonly plenty: Readonly<Record<number, number>>;
  readonly scarce: Readonly<Record<number, number>>;
  readonly slowestMs: number;
  /** The longest stall of the event loop of the process. */
  readonly stallMs: number;
}

export interface Loading {
  /** All changes of the limiter's mode since the load began. */
  readonly modes: readonly LimiterMode[];
  /** From now on, blocks the event loop of the process again and again, for longer than the deadline. */
  makeBusy(): void;
  /** Resolves when the limiter counts in Redis again. */
  sharedAgain(): Promise<void>;
  stop(): Promise<LoadingResult>;
}

/** Starts a process that sends requests. Resolves when its limiter counts in Redis. */
export async function startLoading(t: TestContext, options: LoadingOptions): Promise<Loading> {
  const modes: LimiterMode[] = [];
  const child = fork(new URL('loading-process.ts', import.meta.url), [JSON.stringify(options)]);
  t.after(() => child.kill('SIGKILL'));
  const done = new Promise<LoadingResult>((resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`the process that sends requests has ended with exit code ${code}`)));
    child.on('message', (message: { readonly mode: LimiterMode } | LoadingResult) => {
      if ('mode' in message) modes.push(message.mode);
      else resolve(message);
    });
  });
  done.catch(() => {});
  await Promise.race([once(child, 'message'), done]);
  modes.length = 0;
  return {
    modes,
    makeBusy: () => child.send('busy'),
    async sharedAgain() {
      const sinceMs = performance.now();
      while ((modes.at(-1) ?? 'shared') !== 'shared' && performance.now() - sinceMs < 20_000) await sleep(20);
    },
    async stop() {
      child.send('stop');
      return done;
    },
  };
}
