import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.js';
import type { Report } from './denials.js';
import type { KeyState } from './limiter.js';
import type { Amount } from './outage.js';
import type { Plan } from './plan.js';
import { type Found, NO_PLAN, planArguments, readAnswer, readState } from './redis-codec.js';
import { INSPECT, PROBE, SCRIPT, SCRIPT_SHA } from './redis-script.js';
import type { Instant } from './token-bucket.js';

/**
 * Sends one command to the server and resolves to its answer. `key` is the one key that the command is about, for
 * clients of a cluster that cannot tell it from the command.
 */
export type SendCommand = (command: [name: string, ...parameters: string[]], key: string) => Promise<unknown>;

/** The state that a call found, and the instant at which it did. */
export interface Seen extends Found {
  readonly instant: Instant;
}

/** A digest costs more than the look-up. */
const REMEMBERED_NAMES = 10_000;

/** What the limiter asks of the server, each in one round trip. */
export function createRedisCalls(send: SendCommand, prefix: string, clock: Clock | undefined, patienceMs: number) {
  /** What to add to the process's time for the server's. The time that the last call took is in it. */
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

  async function call(
    mode: string,
    key: string,
    plan: Plan | undefined,
    cost: number,
    report: Report,
    amounts?: readonly Amount[],
  ): Promise<Seen> {
    const sinceMs = performance.now();
    const name = nameOf(key);
    const { plan: windows, ban } = plan === undefined ? NO_PLAN : planArguments(plan);
    const utcOffsetMs = clock === undefined ? 0 : clock.utcOffsetMs();
    let [command, script] = ['EVALSHA', SCRIPT_SHA];
    for (;;) {
      // Nobody waits for it any longer then: a call that was kept on the way must do nothing.
      const latest = `${Math.floor(sinceMs + aheadMs + patienceMs)}`;
      const sentMs = performance.now();
      let answer: unknown;
      try {
        const given = rare(report, utcOffsetMs);
        const rest =
          amounts !== undefined
            ? [given, mode, ...amounts.flat().map(String)]
            : mode !== 'take'
              ? [given, mode]
              : given !== ''
                ? [given]
                : [];
        answer = await send([command, script, '1', name, `${cost}`, latest, windows, ban, ...rest], name);
      } catch (error) {
        if (command === 'EVAL' || !isUnknownScript(error)) throw error;
        [command, script] = ['EVAL', SCRIPT];
        continue;
      }
      const found = readAnswer(answer, plan === undefined ? [] : plan.policies);
      const { nowMs } = found;
      const isInTime = performance.now() - sinceMs < patienceMs;
      if (isInTime) aheadMs = nowMs - sentMs;
      if ('state' in found) return { ...found, instant: { nowMs, utcOffsetMs } };
      // In time and yet too late for the server: its clock was stepped, or this is another server of the cluster.
      if (!isInTime) throw new Error('the server was reached too late');
    }
  }

  function rare({ strikes, strikesEndMs, most }: Report, utcOffsetMs: number): string {
    if (clock !== undefined) return `${strikes} ${strikesEndMs} ${most} ${clock.nowMs()} ${utcOffsetMs}`;
    return strikes === 0 ? '' : `${strikes} ${strikesEndMs} ${most}`;
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

/** Clients word it in their own way: "NOSCRIPT No matching script", "NoScriptError". */
function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && /no_?script/i.test(error.message);
}
