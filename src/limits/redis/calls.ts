import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Clock, TOLERATED_MS } from '../clock.js';
import type { Decision } from '../limiter.js';
import type { Plan } from '../plan.js';
import { decisionOf } from '../rule.js';
import { holds, type Instant } from '../token-bucket.js';
import { PASSES, RECORD_FORMAT, SCRIPT, SCRIPT_SHA } from './script.js';

/**
 * Sends one command to the Redis server and resolves to the server's reply. `key` is the only key
 * that the command uses. Cluster clients need it if they cannot find the key in the command.
 */
export type SendCommand = (command: [name: string, ...parameters: string[]], key: string) => Promise<unknown>;

/** A decision of the server, and the end of the key's ban by the server's clock, or 0. */
export interface ServerDecision {
  readonly decision: Decision;
  readonly banEndMs: number;
}

/** How many names of records are cached, because computing their digests takes longer. */
const CACHED_NAMES = 10_000;

/** The windows and the ban policy of a plan, in the form that the script expects. */
type PlanParameters = readonly [windows: string, ban: string];

const NO_PLAN: PlanParameters = ['[]', 'false'];

/** Creates the functions that call the script. Each call is one round trip. */
export function createRedisCalls(send: SendCommand, prefix: string, clock: Clock | undefined) {
  const recordNames = new LRUCache<string, string>({ max: CACHED_NAMES });
  /** Kept, because serialising a plan takes 2 µs. */
  const planParameters = new WeakMap<Plan, PlanParameters>();
  let offsetMs = 0;

  function recordNameOf(key: string): string {
    let name = recordNames.get(key);
    if (name === undefined) {
      name = `${prefix}${RECORD_FORMAT}:${hash('sha256', key, 'base64url')}`;
      recordNames.set(key, name);
    }
    return name;
  }

  function parametersOf(plan: Plan): PlanParameters {
    let parameters = planParameters.get(plan);
    if (parameters === undefined) {
      const windows = plan.policies.flatMap(({ name, quota, windowMs, refill, align }) => {
        return [`${name} ${windowMs} ${refill}`, quota, windowMs, align === 'utc' ? align : refill];
      });
      parameters = [JSON.stringify(windows), JSON.stringify(plan.ban)];
      planParameters.set(plan, parameters);
    }
    return parameters;
  }

  /** Sends a command about one key. Rejects even if `send` throws. */
  function call(name: string, ...command: Parameters<SendCommand>[0]): Promise<unknown> {
    return new Promise((resolve) => resolve(send(command, name)));
  }

  /** Runs the script. Not `async`, because more promises would slow down every decision. */
  function runScript(
    mode: 'take' | 'peek' | 'ban' | 'unban' | 'probe',
    key: string,
    cost: number,
    plan: PlanParameters,
    instant = instantNow(),
  ): Promise<unknown> {
    const name = recordNameOf(key);
    const rest = ['1', name, ...plan];
    if (cost !== 1 || mode !== 'take' || instant !== undefined) rest.push(`${cost}`, mode);
    if (instant !== undefined) rest.push(`${instant.nowMs} ${instant.utcOffsetMs}`);
    return call(name, 'EVALSHA', SCRIPT_SHA, ...rest).catch((error) => {
      if (!isUnknownScript(error)) throw error;
      return call(name, 'EVAL', SCRIPT, ...rest);
    });
  }

  /** Returns the time for the script, or `undefined` if the script reads the server's clock. */
  function instantNow(): Instant | undefined {
    if (clock === undefined) return undefined;
    const nowMs = clock.nowMs();
    return { nowMs, utcOffsetMs: clock.utcOffsetMs(nowMs) };
  }

  /**
   * Returns what to add to the server's time to get Unix time by this machine's clock, to which
   * clients compare it. It changes only if it is wrong by more than a second, so that the announced
   * reset times do not vary. The server read its clock at some instant from `sentMs` to now.
   */
  function serverOffsetMs(serverMs: number, sentMs: number): number {
    const latestMs = Date.now() - serverMs;
    const isPossible = offsetMs > sentMs - serverMs - TOLERATED_MS && offsetMs < latestMs + TOLERATED_MS;
    if (!isPossible) offsetMs = latestMs;
    return offsetMs;
  }

  function decide(mode: 'take' | 'peek', key: string, plan: Plan, cost: number): Promise<ServerDecision> {
    const instant = instantNow();
    const sentMs = Date.now();
    return runScript(mode, key, cost, parametersOf(plan), instant).then((reply) =>
      serverDecisionOf(
        { key, plan, cost },
        reply,
        (serverMs) => instant?.utcOffsetMs ?? serverOffsetMs(serverMs, sentMs),
      ),
    );
  }

  return {
    take: (key: string, plan: Plan, cost: number) => decide('take', key, plan, cost),
    peek: (key: string, plan: Plan, cost: number) => decide('peek', key, plan, cost),
    ban: (key: string, ms: number) => runScript('ban', key, ms, NO_PLAN),
    unban: (key: string) => runScript('unban', key, 0, NO_PLAN),
    reset: (key: string) => call(recordNameOf(key), 'DEL', recordNameOf(key)),

    /**
     * Resolves if the server that stores this key can read and write. Changes nothing. It sends the
     * commands that decisions send, because a user of the server may have the right to no others.
     */
    probe: (key: string) => runScript('probe', key, 0, NO_PLAN),
  };
}

/** Redis clients word this error differently: "NOSCRIPT No matching script", "NoScriptError". */
function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && /noscript/i.test(error.message);
}

/**
 * Reads the script's reply, a list of integers that script.ts describes. Redis clients return them
 * as numbers, bigints or strings. `offsetAt` returns the offset from the server's time to Unix time.
 */
function serverDecisionOf(
  request: Pick<Decision, 'key' | 'plan' | 'cost'>,
  reply: unknown,
  offsetAt: (serverMs: number) => number,
): ServerDecision {
  const { policies } = request.plan;
  const numbers = Array.isArray(reply) ? reply.map(Number) : [];
  const length = 2 + 2 * policies.length;
  if (numbers.length !== length || !numbers.every(Number.isInteger)) {
    throw new TypeError(`send: expected the server's reply, a list of ${length} integers`);
  }
  const [nowMs = 0, banEnd = 0] = numbers;
  const passes = banEnd === PASSES;
  const windows = policies.map((policy, index) => {
    const bucket = { taken: numbers[2 * index + 2] ?? 0, atMs: nowMs + (numbers[2 * index + 3] ?? 0) };
    return { policy, bucket, refuses: !passes && !holds(bucket, policy, request.cost) };
  });
  const banEndMs = passes ? 0 : banEnd;
  const instant = { nowMs, utcOffsetMs: offsetAt(nowMs) };
  return { decision: decisionOf(request, windows, passes, banEndMs, instant), banEndMs };
}
