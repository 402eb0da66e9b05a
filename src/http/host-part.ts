import type { MaybePromise } from '../orders/index.js';
import { isPromise } from './maybe-promise.js';

/** How long a client should wait after the first failure, and at most, however long the outage. */
export const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Failures that are further apart than this are not of one outage: a client had time to come back. */
const QUIET_MS = 2 * LONGEST_WAIT_MS;

/** A failure of the host: of its store, its limiter, or a function such as `authenticate`. */
export class HostFailure extends Error {
  /** How long the client should wait until it tries again. */
  readonly waitMs: number;

  constructor(what: string, error: unknown, waitMs = FIRST_WAIT_MS) {
    super(what, { cause: typeof error === 'object' && error !== null ? error : new Error(String(error)) });
    this.waitMs = waitMs;
  }
}

/**
 * Wraps the calls of one function of the host, whose failures become {@link HostFailure}s. While the
 * function goes on failing, a client should wait a second more than the failures have lasted. So a
 * client that obeys waits for 1, 2, 4, … 30 s, however many others fail at the same time. After the
 * first success, or a minute without a failure, it is 1 s again.
 */
export function createHostPart(name: string) {
  let firstFailureMs = 0;
  let lastFailureMs = Number.NEGATIVE_INFINITY;

  function fail(error: unknown): never {
    const nowMs = performance.now();
    if (nowMs - lastFailureMs > QUIET_MS) firstFailureMs = nowMs;
    lastFailureMs = nowMs;
    const lastedMs = Math.floor((nowMs - firstFailureMs) / 1_000) * 1_000;
    throw new HostFailure(`${name} failed`, error, Math.min(FIRST_WAIT_MS + lastedMs, LONGEST_WAIT_MS));
  }

  function succeed<T>(result: T): T {
    lastFailureMs = Number.NEGATIVE_INFINITY;
    return result;
  }

  return {
    /** Calls the function. Not by `attempt` and `after`, which would make a request 10 % slower. */
    call<T>(call: () => MaybePromise<T>): MaybePromise<T> {
      try {
        const result = call();
        return isPromise(result) ? Promise.resolve(result).then(succeed, fail) : succeed(result);
      } catch (error) {
        return fail(error);
      }
    },

    /** Yields what `pages` yields. */
    async *stream<T>(pages: AsyncIterable<T>): AsyncGenerator<T, undefined> {
      try {
        yield* pages;
      } catch (error) {
        fail(error);
      }
      succeed(pages);
      return undefined;
    },
  };
}
