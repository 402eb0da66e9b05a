import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { answerOf, issueKey, type RunningServer, startServer } from '../../../program/support/program.js';
import { run, spawnProgram } from '../../../program/support/run.js';
import { seededRandom } from '../../../support/rounds.js';
import { temporaryDirectory } from '../../../support/temporary-file.js';
import { until } from '../../../support/until.js';
import { type Answer, createClient } from './client.js';

/** The longest time until a process is killed. Most commands end within this time. */
const LIFE_MS = 500;
/** The quota of each key, which no day uses up. */
const QUOTA = 1_000_000_000;

/** What the database is expected to contain. A world is never changed, only replaced. */
export interface World {
  /** The status of each order by its id, in ascending order of ids. */
  readonly orders: ReadonlyMap<bigint, string>;
  /** Whether each key is revoked, by the id of the key. */
  readonly keys: ReadonlyMap<string, boolean>;
}

export type Day = Awaited<ReturnType<typeof beginDay>>;

/** Begins a day with an empty directory. */
export async function beginDay(t: TestContext) {
  const random = seededRandom(t);
  const cwd = temporaryDirectory();
  /** The API keys of the day, by id. A restored database may lack some of them. */
  const apiKeys = new Map<string, string>();
  const backups: { readonly name: string; readonly world: World }[] = [];
  let server: RunningServer | undefined;
  let lastId = 1_000n;

  function number(below: number): number {
    return Math.floor(random() * below);
  }

  function pick<T>(values: readonly T[]): T {
    const value = values[number(values.length)];
    if (value === undefined) throw new Error('nothing to pick from');
    return value;
  }

  /** Observes with commands, because libsql keeps a file open in the process that has closed it. */
  async function observe(): Promise<World> {
    const [exported, listed] = await Promise.all([
      run(['orders', 'export'], { cwd }),
      answerOf(['keys', 'list'], { cwd }),
    ]);
    assert.equal(exported.stderr, '');
    assert.ok(Array.isArray(listed));
    const orders = Array.from(
      exported.stdout.matchAll(/"id":(-?\d+),.*"status":"(\w+)"/g),
      ([, id = '', status = '']) => [BigInt(id), status] as const,
    );
    return { orders: new Map(orders), keys: new Map(listed.map(({ id, revokedAt }) => [id, revokedAt !== undefined])) };
  }

  /** Lists the orders, or cancels one. Returns `undefined` if the connection broke. */
  async function ask(keyId: string, id?: bigint): Promise<Answer | undefined> {
    assert.ok(server);
    const client = createClient(server.url, apiKeys.get(keyId) ?? '');
    try {
      return await (id === undefined ? client.list() : client.cancel(id));
    } catch {
      return undefined;
    } finally {
      client.close();
    }
  }

  async function createKey(): Promise<string> {
    const { id, key } = await issueKey(cwd, 'enterprise', '--per-minute', `${QUOTA}`, '--per-day', `${QUOTA}`);
    apiKeys.set(id, key);
    return id;
  }

  let world: World = { orders: new Map(), keys: new Map() };

  return {
    cwd,
    backups,
    number,
    pick,
    observe,
    ask,
    createKey,
    world: () => world,
    isRunning: () => server !== undefined,
    newIds: (count: number) => Array.from({ length: count }, () => ++lastId),
    /** The ids of the keys of this day: nobody knows the API keys of the earlier version. */
    keyIds: () => [...world.keys.keys()].filter((id) => apiKeys.has(id)),
    validKeyIds: () => [...apiKeys.keys()].filter((id) => world.keys.get(id) === false),

    expect(changes: Partial<World>): void {
      world = { ...world, ...changes };
    },

    async start(): Promise<void> {
      server ??= await startServer(t, { cwd }, '--log', 'events');
    },

    async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
      const stopped = server;
      server = undefined;
      if (stopped !== undefined) assert.equal(await stopped.stop(signal), signal === 'SIGTERM' ? 0 : signal);
    },

    /** Compares everything that can be observed with the model. */
    async look(): Promise<void> {
      assert.deepEqual(await observe(), world);
      const [keyId] = this.validKeyIds();
      if (server === undefined || keyId === undefined) return;
      const ids = [...world.orders.keys()].join();
      await until(async () => {
        const listed = await ask(keyId);
        return Array.from(listed?.body.matchAll(/"id":(-?\d+)/g) ?? [], ([, id]) => id).join() === ids;
      });
    },

    /**
     * Runs a command and kills it at a random moment. Then the database must be as before, or as
     * `after`. Returns whether the command has ended on its own.
     */
    async killed(args: readonly string[], after: World, input = ''): Promise<boolean> {
      const child = spawnProgram(args, { cwd });
      const exited = once(child, 'exit');
      child.stdin?.on('error', () => {});
      child.stdin?.end(input);
      await Promise.race([exited, sleep(random() * LIFE_MS)]);
      child.kill('SIGKILL');
      const [code] = await exited;
      assert.ok(code === null || code === 0, `exit code ${code}`);
      const actual = await observe();
      if (code === 0 || !isDeepStrictEqual(actual, world)) world = after;
      assert.deepEqual(actual, world);
      return code === 0;
    },
  };
}

export function changed(orders: World['orders'], changes: Iterable<readonly [bigint, string]>): World['orders'] {
  return new Map([...new Map([...orders, ...changes])].sort(([a], [b]) => (a < b ? -1 : 1)));
}
