import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Agent, get } from 'node:http';
import { setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ATTACKER = fileURLToPath(new URL('attacking-process.ts', import.meta.url));

/**
 * Runs an attack in a separate process; see attacking-process.ts. `from` is the attacker's address,
 * or the number of its addresses. Returns the attacker's figures.
 */
export async function attack(
  kind: string,
  url: URL,
  seconds: number,
  connections: number,
  from: string,
  keys: readonly string[] = [],
): Promise<object> {
  const parameters = ['--import', 'tsx', ATTACKER, kind, url.port, `${seconds}`, `${connections}`, from, ...keys];
  const child = spawn(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'inherit'] });
  // A real attacker has its own machine. Here, a low priority keeps the attack from slowing the
  // customers down.
  if (child.pid !== undefined) setPriority(child.pid, 10);
  return JSON.parse(await text(child.stdout));
}

export interface Customer {
  readonly url: URL;
  /** Returns the key for a request, or `undefined` if the customer has no more keys. */
  readonly nextKey: () => string | undefined;
  /** The customer sends as many requests at the same time as the agent may have sockets. */
  readonly agent: Agent;
  /** The pause after each response. */
  readonly pauseMs: number;
}

/** Sends the requests of a customer until `during` settles. Returns what the customer has measured. */
export async function measure({ url, nextKey, agent, pauseMs }: Customer, during: Promise<unknown>) {
  const startMs = performance.now();
  const latencies: number[] = [];
  /** The statuses other than 200, and the errors. */
  const failures: string[] = [];
  let isOver = false;

  async function ask(key: string): Promise<void> {
    const sentMs = performance.now();
    const headers = { authorization: `Bearer ${key}` };
    const request = get(url, { agent, headers, signal: AbortSignal.timeout(10_000) });
    const [response] = await once(request, 'response');
    await once(response.resume(), 'end');
    if (response.statusCode === 200) latencies.push(performance.now() - sentMs);
    else failures.push(`${response.statusCode}`);
  }

  async function work(): Promise<void> {
    for (let key = nextKey(); key !== undefined && !isOver; key = nextKey()) {
      await ask(key).catch((error) => failures.push(String(error)));
      await sleep(pauseMs);
    }
  }

  const working = Array.from({ length: agent.maxSockets }, work);
  await during.finally(() => {
    isOver = true;
  });
  await Promise.all(working);
  const sorted = latencies.toSorted((one, other) => one - other);
  return {
    perSecond: (1_000 * sorted.length) / (performance.now() - startMs),
    p99: sorted[Math.floor(0.99 * sorted.length)] ?? Number.NaN,
    failures,
  };
}
