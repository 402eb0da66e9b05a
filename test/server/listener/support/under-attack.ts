import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ATTACKER = fileURLToPath(new URL('attacking-process.ts', import.meta.url));

export interface AttackFigures {
  readonly opened: number;
  readonly closed: number;
  readonly requests: number;
}

/**
 * Runs an attack in a separate process; see attacking-process.ts. `from` is the attacker's address,
 * or the number of its addresses.
 */
export async function attack(
  kind: string,
  url: URL,
  seconds: number,
  connections: number,
  from: string,
): Promise<AttackFigures> {
  // A real attacker has its own machine. Here, a low priority keeps the attack from slowing the
  // customers down.
  const parameters = ['--import', 'tsx', ATTACKER, kind, url.port, `${seconds}`, `${connections}`, from];
  const child = spawn(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'inherit'] });
  if (child.pid !== undefined) setPriority(child.pid, 10);
  return JSON.parse(await text(child.stdout));
}

/** Sends a customer's requests, and measures their latencies. */
export interface Customer {
  /**
   * Returns the latencies in ms, in ascending order, of the requests that got a 200 since the last
   * call.
   */
  take(): number[];
  /** The statuses other than 200, and the errors. */
  readonly failures: readonly string[];
  stop(): Promise<void>;
}

/**
 * Starts `clients` concurrent clients, each of which pauses for `pauseMs` after each response.
 * Newcomers open a new connection for each request. `nextKey` returns the key for a request.
 */
export function customer(
  url: URL,
  nextKey: () => string,
  clients: number,
  pauseMs: number,
  isNewcomer = false,
): Customer {
  const agent = new Agent({ keepAlive: !isNewcomer, maxSockets: clients });
  const failures: string[] = [];
  let latencies: number[] = [];
  let isStopped = false;

  const ask = () =>
    new Promise<void>((resolve) => {
      const startMs = performance.now();
      const request = get(url, { agent, headers: { authorization: `Bearer ${nextKey()}` }, timeout: 10_000 });
      request.on('timeout', () => request.destroy(new Error('no response for 10 s')));
      request.on('error', ({ message }) => resolve(void failures.push(message)));
      request.on('response', (response) => {
        response.resume().on('end', () => {
          if (response.statusCode === 200) latencies.push(performance.now() - startMs);
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
      const taken = latencies.sort((one, other) => one - other);
      latencies = [];
      return taken;
    },
    failures,
    async stop() {
      isStopped = true;
      await Promise.all(working);
      agent.destroy();
    },
  };
}

export function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

/** Returns the resident memory of a process, in MiB. */
export function residentMiB(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024;
}
