import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
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
): Promise<object> {
  const parameters = ['--import', 'tsx', ATTACKER, kind, url.port, `${seconds}`, `${connections}`, from];
  const child = spawn(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'inherit'] });
  // A real attacker has its own machine. Here, a low priority keeps the attack from slowing the
  // customers down.
  if (child.pid !== undefined) setPriority(child.pid, 10);
  return JSON.parse(await text(child.stdout));
}

/** What a customer has measured since the last call of `take`, or since its start. */
interface Measured {
  /** How many requests got a 200. */
  readonly perSecond: number;
  /** The 99th percentile of their latencies, in ms. */
  readonly p99: number;
  /** The statuses other than 200, and the errors. */
  readonly failures: readonly string[];
}

export interface Customer {
  take(): Measured;
  stop(): Promise<void>;
}

interface CustomerOptions {
  readonly url: URL;
  /** Returns the key for a request. */
  readonly nextKey: () => string;
  /** How many clients send requests at the same time. */
  readonly clients: number;
  /** How long a client waits after each response. */
  readonly pauseMs: number;
  /** Whether a client keeps its connection. Otherwise it opens a new one for each request. */
  readonly keepAlive: boolean;
}

/** Starts to send a customer's requests, and measures their latencies. */
export function startCustomer({ url, nextKey, clients, pauseMs, keepAlive }: CustomerOptions): Customer {
  const agent = new Agent({ keepAlive, maxSockets: clients });
  let startMs = performance.now();
  let latencies: number[] = [];
  let failures: string[] = [];
  let isStopped = false;

  const ask = () =>
    new Promise<void>((resolve) => {
      const sentMs = performance.now();
      const request = get(url, { agent, headers: { authorization: `Bearer ${nextKey()}` }, timeout: 10_000 });
      request.on('timeout', () => request.destroy(new Error('no response for 10 s')));
      request.on('error', ({ message }) => resolve(void failures.push(message)));
      request.on('response', (response) => {
        response.resume().on('end', () => {
          if (response.statusCode === 200) latencies.push(performance.now() - sentMs);
          else failures.push(`${response.statusCode}`);
          resolve();
        });
      });
    });
  async function work(): Promise<void> {
    while (!isStopped) {
      await ask();
      await sleep(pauseMs);
    }
  }

  const working = Array.from({ length: clients }, work);
  return {
    take() {
      const sorted = latencies.sort((one, other) => one - other);
      const perSecond = (1_000 * sorted.length) / (performance.now() - startMs);
      const measured = { perSecond, p99: sorted[Math.floor(0.99 * sorted.length)] ?? Number.NaN, failures };
      startMs = performance.now();
      latencies = [];
      failures = [];
      return measured;
    },
    async stop() {
      isStopped = true;
      await Promise.all(working);
      agent.destroy();
    },
  };
}

/** Returns the resident memory of a process, in MiB. */
export function residentMiB(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024;
}
