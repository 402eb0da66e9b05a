import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.js';
import type { BanState, KeyState, NamedBucket } from '../limiter.js';
import type { Plan } from '../plan.js';
import type { Bucket, Instant } from '../token-bucket.js';
import { PASSES, PROBE, RECORD_FORMAT, SCRIPT, SCRIPT_SHA } from './script.js';

/**
 * Sends one command to the Redis server and resolves to the server's reply. `key` is the only key
 * that the command uses. Cluster clients need it if they cannot find the key in the command.
 */
export type SendCommand = (command: [name: string, ...parameters: string[]], key: string) => Promise<unknown>;

/** What the script replies to a request. */
export interface Answer extends Instant {
  readonly passes: boolean;
  /** The end of the key's ban, or 0. */
  readonly banEndMs: number;
  /** The bucket of each window after the request. */
  readonly buckets: readonly Bucket[];
}

/**
 * How many Redis key names are cached. Computing the digest that is part of a name takes longer
 * than a look-up in the cache.
 */
const CACHED_NAMES = 10_000;

export type RedisCalls = ReturnType<typeof createRedisCalls>;

/** Creates the functions that call the script. Each call is one round trip. */
export function createRedisCalls(send: SendCommand, prefix: string, clock: Clock | undefined) {
  const names = new LRUCache<string, string>({ max: CACHED_NAMES });
  const planParameters = new WeakMap<Plan, PlanParameters>();

  function nameOf(key: string): string {
    let name = names.get(key);
    if (name === undefined) {
      name = `${prefix}${RECORD_FORMAT}:${hash('sha256', key, 'base64url')}`;
      names.set(key, name);
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

  /** Runs the script. Not `async`, because more promises would slow down every decision. */
  function run<T>(
    mode: Mode,
    key: string,
    cost: number,
    plan: PlanParameters,
    read: (reply: unknown, instant: Instant | undefined) => T,
  ): Promise<T> {
    const name = nameOf(key);
    const instant = instantNow();
    const rest = ['1', name, ...plan];
    if (cost !== 1 || mode !== 'take' || instant !== undefined) rest.push(`${cost}`, mode);
    if (instant !== undefined) rest.push(`${instant.nowMs} ${instant.utcOffsetMs}`);
    return sendOrReject(['EVALSHA', SCRIPT_SHA, ...rest], name).then(
      (reply) => read(reply, instant),
      (error) => {
        if (!isUnknownScript(error)) throw error;
        return sendOrReject(['EVAL', SCRIPT, ...rest], name).then((reply) => read(reply, instant));
      },
    );
  }

  function sendOrReject(command: Parameters<SendCommand>[0], name: string): Promise<unknown> {
    try {
      return Promise.resolve(send(command, name));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Returns the time for the script, or `undefined` if the script reads the server's clock. */
  function instantNow(): Instant | undefined {
    if (clock === undefined) return undefined;
    const nowMs = clock.nowMs();
    return { nowMs, utcOffsetMs: clock.utcOffsetMs(nowMs) };
  }

  return {
    decide: (mode: 'take' | 'peek', key: string, plan: Plan, cost: number): Promise<Answer> =>
      run(mode, key, cost, parametersOf(plan), (reply, instant) => readAnswer(reply, plan, instant)),

    ban: (key: string, ms: number): Promise<void> => run('ban', key, ms, NO_PLAN, () => {}),
    unban: (key: string): Promise<void> => run('unban', key, 0, NO_PLAN, () => {}),
    inspect: (key: string): Promise<KeyState | undefined> => run('inspect', key, 0, NO_PLAN, readState),

    async reset(key: string): Promise<void> {
      const name = nameOf(key);
      await send(['DEL', name], name);
    },

    /** Resolves if the server that stores this key can write. */
    async probe(key: string): Promise<void> {
      const name = nameOf(key);
      await send(['EVAL', PROBE, '1', name], name);
    },
  };
}

type Mode = 'take' | 'peek' | 'ban' | 'unban' | 'inspect';

/** The windows and the ban policy of a plan, in the form that the script expects. */
type PlanParameters = readonly [windows: string, ban: string];

const NO_PLAN: PlanParameters = ['[]', 'false'];

/** Redis clients word this error differently: "NOSCRIPT No matching script", "NoScriptError". */
function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && /no_?script/i.test(error.message);
}

/** Reads the reply to a request. script.ts describes it. */
function readAnswer(reply: unknown, { policies }: Plan, instant: Instant | undefined): Answer {
  const numbers = integersOf(reply);
  const [nowMs = 0, banEndMs = 0] = numbers;
  if (numbers.length !== 2 + 2 * policies.length) throw unreadable();
  return {
    nowMs,
    utcOffsetMs: instant === undefined ? 0 : instant.utcOffsetMs,
    passes: banEndMs === PASSES,
    banEndMs: Math.max(0, banEndMs),
    buckets: policies.map((_, index) => {
      return { taken: numbers[2 * index + 2] ?? 0, atMs: nowMs + (numbers[2 * index + 3] ?? 0) };
    }),
  };
}

function unreadable(): TypeError {
  return new TypeError("send: returned something other than the script's reply");
}

/**
 * Returns the integers of a reply, which Redis clients return as numbers, bigints or strings.
 * Returns an empty list for any other reply.
 */
function integersOf(reply: unknown): readonly number[] {
  if (!Array.isArray(reply)) return [];
  if (reply.every(Number.isInteger)) return reply;
  const numbers = reply.map(Number);
  return numbers.every(Number.isInteger) ? numbers : [];
}

function readState(reply: unknown): KeyState | undefined {
  if (!Array.isArray(reply)) throw unreadable();
  const [ban, ...rest] = reply;
  const buckets: NamedBucket[] = [];
  for (let at = 0; at < rest.length; at += 3) {
    const [name = '', windowMs, refill] = String(rest[at]).split(' ');
    buckets.push({
      name,
      windowMs: Number(windowMs),
      refill: refill === 'continuous' ? refill : 'interval',
      taken: Number(rest[at + 1]),
      atMs: Number(rest[at + 2]),
    });
  }
  const numbers = integersOf(ban);
  if (numbers.length > 0) return { buckets, ban: banStateOf(numbers) };
  return buckets.length === 0 ? undefined : { buckets };
}

function banStateOf(numbers: readonly number[]): BanState {
  const [refusedAtMs = 0, forgiven = 0, banEndMs = 0, banMs = 0, level = 0, forgetAtMs = 0, ...strikesAtMs] = numbers;
  return { refusedAtMs, forgiven, strikesAtMs, banEndMs, banMs, level, forgetAtMs };
}
