import { readFileSync } from 'node:fs';
import { after, type TestContext } from 'node:test';
import { type Client, createClient } from '../../../../promises/durability/support/client.js';
import { missingEngine, startEngine } from '../../../../support/postgres-server.js';
import { PATIENT, skip as skipRedis, startRedis } from '../../../../support/redis-server.js';
import { programIn, type RunningServer, startServer } from '../../../support/program.js';

export const skip = missingEngine || skipRedis;
export const WORKERS = 2;
export const CLIENTS = 16;

export const engine = skip ? undefined : await startEngine();
const redis = skip ? undefined : await startRedis();
export const env = { DATABASE_URL: engine?.url ?? '', REDIS_URL: `redis://127.0.0.1:${redis?.port}`, ...PATIENT };

after(() => redis?.stop());

export async function startWorkers(t: TestContext, ...args: string[]) {
  const { cwd, json } = programIn({ env });
  const server = await startServer(t, { cwd, env }, '--workers', `${WORKERS}`, ...args);
  /** Creates clients with a new key. With the default count, every worker gets some of them. */
  async function connect(count = CLIENTS, perDay = 1_000_000): Promise<Client[]> {
    const { key } = Object(await json(`keys create --plan enterprise --per-day ${perDay}`));
    const clients = Array.from({ length: count }, () => createClient(server.url, key));
    t.after(() => {
      for (const client of clients) client.close();
    });
    return clients;
  }
  return { server, connect };
}

/** Returns the ids of the worker processes. */
export function workersOf({ child }: Pick<RunningServer, 'child'>): number[] {
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'latin1');
  return children.split(' ').filter(Boolean).map(Number);
}
