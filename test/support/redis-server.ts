import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { freePort } from './listen.js';
import { startProgram } from './outer-environment.js';
import { temporaryDirectory } from './temporary-file.js';
import { until } from './until.js';

const binary = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);

/** The reason to skip a test if no server is installed, or `false`. */
export const skip =
  binary === undefined && 'neither redis-server nor valkey-server is installed (Debian: apt-get install redis-server)';

const WAIT_LONGER =
  'globalThis.setTimeout = new Proxy(setTimeout, ' +
  '{ apply: (start, self, [run, ms, ...rest]) => start(run, ms === 250 ? 10_000 : ms, ...rest) })';

/**
 * Variables of a process that waits for a reply of Redis until its connection ends, not for the 250 ms
 * after which the process rightly decides by itself. For tests that count what Redis decides, because
 * on a busy machine some replies come later.
 */
export const PATIENT = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(WAIT_LONGER)}` };

export interface RedisServer {
  readonly port: number;
  readonly child: ChildProcess;
  /** A connection for the test's own use. */
  readonly client: Redis;
  stop(): Promise<void>;
}

/** Starts a private server, on a free port by default. The server stores nothing on disk. */
export async function startRedis(options: readonly string[] = [], atPort?: number): Promise<RedisServer> {
  if (binary === undefined) throw new Error('neither redis-server nor valkey-server is installed');
  const folder = temporaryDirectory();
  const port = atPort ?? (await freePort());
  const settings = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
  const client = connectRedis(port);
  const isReady = async () => (await client.ping().catch(String)) === 'PONG';
  const child = await startProgram(binary, [...settings, ...options], isReady).catch((error) => {
    client.disconnect();
    throw error;
  });
  return {
    port,
    child,
    client,
    async stop() {
      client.disconnect();
      child.kill('SIGCONT');
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

/**
 * Starts a Redis cluster of three masters, each with a third of the hash slots. Resolves when every
 * master knows the slots of all three.
 */
export async function startRedisCluster(options: readonly string[] = []): Promise<RedisServer[]> {
  const servers: RedisServer[] = [];
  const ports: number[] = [];
  for (let index = 0; index < 3; index++) {
    const bus = await freePort();
    ports.push(bus);
    servers.push(await startRedis(['--cluster-enabled', 'yes', '--cluster-port', `${bus}`, ...options]));
  }
  for (const [index, { client }] of servers.entries()) {
    const [from, to] = [Math.ceil((16_384 * index) / 3), Math.ceil((16_384 * (index + 1)) / 3) - 1];
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
  }
  for (const { client } of servers) {
    for (const [other, { port }] of servers.entries()) {
      await client.call('CLUSTER', 'MEET', '127.0.0.1', port, ports[other] ?? 0);
    }
  }
  for (const { client } of servers) {
    const told = async (part: string) => String(await client.call('CLUSTER', part));
    await until(async () => /cluster_state:ok[\s\S]*cluster_known_nodes:3/.test(await told('INFO')));
    await until(async () => (await told('SLOTS')).split('127.0.0.1').length === 4);
  }
  return servers;
}

/** Creates a client that reconnects soon after its server is back, and sends no command twice. */
export function connectRedis(port: number): Redis {
  const client = new Redis(port, '127.0.0.1', { retryStrategy: () => 100, autoResendUnfulfilledCommands: false });
  client.on('error', () => {});
  return client;
}
