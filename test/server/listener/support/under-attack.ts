import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { sleep } from '../../support/program.js';

const ATTACKER = fileURLToPath(new URL('attacking-process.ts', import.meta.url));

export interface AttackFigures {
  readonly opened: number;
  readonly closed: number;
  readonly requests: number;
  readonly longestMs: number;
}

/** Runs an attack in a process of its own; see attacking-process.ts. */
export async function attack(
  kind: string,
  url: URL,
  seconds: number,
  connections: number,
): Promise<Readonly<Record<string, AttackFigures>>> {
  const args = ['--import', 'tsx', ATTACKER, kind, url.port, `${seconds}`, `${connections}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  return JSON.parse(await text(child.stdout));
}

/** A customer's requests, a few at once on connections that stay open, each with its latency. */
export interface Customer {
  /** In ms, in ascending order, of the requests that were answered 200 since the last call. */
  take(): number[];
  readonly failures: readonly string[];
  stop(): Promise<void>;
}

/** `clients` at once, each of which waits `pauseMs` after each answer. */
export function customer(url: URL, apiKey: string, clients: number, pauseMs: number): Customer {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const failures: string[] = [];
  let latencies: number[] = [];
  let isStopped = false;

  const ask = () =>
    new Promise<void>((resolve) => {
      const startMs = performance.now();
      const request = get(url, { agent, headers: { authorization: `Bearer ${apiKey}` }, timeout: 10_000 });
      request.on('timeout', () => request.destroy(new Error('no answer for 10 s')));
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
      if (pauseMs > 0) await sleep(pauseMs);
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

/** The resident memory of a process, in MiB. */
export function residentMiB(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024;
}
