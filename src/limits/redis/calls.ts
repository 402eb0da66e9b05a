import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.js';
import type { KeyState } from '../limiter.js';
import type { Plan } from '../plan.js';
import {
  type Call,
  callArguments,
  type Found,
  NO_PLAN,
  type Passed,
  planArgument,
  readAnswer,
  readState,
} from './codec.js';
import { INSPECT, PROBE, SCRIPT, SCRIPT_SHA } from './script.js';

/**
 * Sends one command to the Redis server and resolves to the server's reply. `key` is the only key
 * that the command uses. Cluster clients need it if they cannot find the key in the command.
 */
export type SendCommand = (command: [name: string, ...parameters: string[]], key: string) => Promise<unknown>;

/** The reply to a call of the script, with the instant when the server ran the script. */
export type Seen = Found | Passed;

/**
 * How many Redis key names are cached. Computing the digest that is part of a name takes longer
 * than a look-up in the cache.
 */
const REMEMBERED_NAMES = 10_000;

export type RedisCalls = ReturnType<typeof createRedisCalls>;

/** Creates the functions that send the limiter's calls to Redis. Each call is one round trip. */
export function createRedisCalls(send: SendCommand, prefix: string, clock: Clock | undefined, patienceMs: number) {
  /**
   * How far the server's clock is ahead of this process's `performance.now()`, in milliseconds.
   * Each call measures it again. The result also contains the travel time of the call to the
   * server.
   */
  let aheadMs = performance.timeOrigin;

  const names = new LRUCache<string, string>({ max: REMEMBERED_NAMES });

  function nameOf(key: string): string {
    let name = names.get(key);
    if (name === undefined) {
      name = `${prefix}${hash('sha256', key, 'base64url')}`;
      names.set(key, name);
    }
    return name;
  }

  /**
   * Sends a call, and resolves to what `read` returns for the reply. The parameter `sentMs` of
   * `read` is the `performance.now()` before the call was sent. The function is not `async`,
   * because the extra promises would slow down every decision.
   */
  function call<T>(
    mode: Call['mode'],
    key: string,
    plan: Plan | undefined,
    { cost = 0, report, amounts }: Partial<Call>,
    read: (seen: Seen, sentMs: number) => T,
  ): Promise<T> {
    const sinceMs = performance.now();
    const name = nameOf(key);
    const utcOffsetMs = clock === undefined ? 0 : clock.utcOffsetMs();
    const instant = clock && { nowMs: clock.nowMs(), utcOffsetMs };
    const rest = callArguments({ mode, cost, report, instant, amounts });
    const planText = plan === undefined ? NO_PLAN : planArgument(plan);

    function ask(command: string, script: string): Promise<T> {
      // If the call reaches the server later than this, the script changes nothing, because the
      // caller no longer waits for the reply.
      const latest = `${Math.floor(sinceMs + aheadMs + patienceMs)}`;
      const sentMs = performance.now();
      return sendOrReject([command, script, '1', name, latest, planText, ...rest], name).then(
        (answer) => {
          const found = readAnswer(answer, plan === undefined ? [] : plan.policies, utcOffsetMs);
          const isInTime = performance.now() - sinceMs < patienceMs;
          if (isInTime) aheadMs = found.nowMs - sentMs;
          if ('utcOffsetMs' in found) return read(found, sinceMs);
          // This process received the reply in time, but by the server's clock the call was too
          // late. So `aheadMs` was wrong: the server's clock was changed, or another server of the
          // cluster replied. The call is sent again with the corrected `aheadMs`.
          if (isInTime) return ask(command, script);
          throw new Error('the call reached the Redis server after the deadline of the call');
        },
        (error) => {
          if (command === 'EVAL' || !isUnknownScript(error)) throw error;
          return ask('EVAL', SCRIPT);
        },
      );
    }

    return ask('EVALSHA', SCRIPT_SHA);
  }

  function sendOrReject(command: Parameters<SendCommand>[0], name: string): Promise<unknown> {
    try {
      return Promise.resolve(send(command, name));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  return {
    call,

    async inspect(key: string): Promise<KeyState | undefined> {
      const name = nameOf(key);
      return readState(await send(['EVAL', INSPECT, '1', name], name));
    },

    async reset(key: string): Promise<void> {
      const name = nameOf(key);
      await send(['DEL', name], name);
    },

    async probe(key: string): Promise<void> {
      const name = nameOf(key);
      await send(['EVAL', PROBE, '1', name], name);
    },
  };
}

/** Redis clients word this error differently: "NOSCRIPT No matching script", "NoScriptError". */
function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && /no_?script/i.test(error.message);
}
