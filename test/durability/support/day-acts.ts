import assert from 'node:assert/strict';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerOf, run } from '../../server/support/program.js';
import { until } from '../../support/until.js';
import { changed, type Day, NOTICED_MS, type World } from './day.js';

/** How many orders a step imports or cancels. */
const SOME = 20;
const OLD_FILE = new URL('../../server/storage/formats/0.1.0.db', import.meta.url);

/** What is in {@link OLD_FILE}. */
const OLD_WORLD: World = {
  orders: new Map([
    [-1n, 'shipped'],
    [0n, 'on_hold'],
    [7n, 'cancelled'],
    [2n ** 63n - 1n, 'pending'],
  ]),
  keys: new Map([
    ['key_6XjMW1uC5W', false],
    ['key_i6iP7BBqFe', false],
    ['key_rsPM05vEZ0', true],
  ]),
};

/** Returns the ids of orders to import or to cancel. Some of them exist. */
function someIds({ world, newIds, pick, number }: Day): readonly bigint[] {
  const existing = [...world().orders.keys()];
  return [...new Set([...Array.from({ length: number(SOME) }, () => pick(existing)), ...newIds(number(SOME) + 1)])];
}

function linesOf(orders: readonly (readonly [bigint, string])[]): string {
  return orders.map(([id, status]) => `{"id":${id},"status":"${status}"}\n`).join('');
}

/**
 * Sends cancels of some orders, and checks each response. Returns the pending orders whose cancel
 * got no response.
 */
async function cancel(day: Day): Promise<readonly bigint[]> {
  const { orders, keys } = day.world();
  const valid = day.keyIds().filter((id) => keys.get(id) === false);
  const keyId = day.pick(valid.length > 0 && day.number(4) > 0 ? valid : day.keyIds());
  const unanswered: bigint[] = [];
  const cancelled: bigint[] = [];
  await Promise.all(
    someIds(day).map(async (id) => {
      const found = orders.get(id);
      const expected = found === undefined ? 404 : found === 'pending' ? 204 : 409;
      const answer = await day.ask(keyId, id);
      if (answer === undefined) unanswered.push(id);
      else
        assert.equal(answer.status, keys.get(keyId) === true ? 401 : expected, `order ${id}, ${found}: ${answer.body}`);
      if (answer?.status === 204) cancelled.push(id);
    }),
  );
  day.expect({ orders: withCancelled(orders, cancelled) });
  return keys.get(keyId) === true ? [] : unanswered.filter((id) => day.world().orders.get(id) === 'pending');
}

function withCancelled(orders: World['orders'], ids: readonly bigint[]): World['orders'] {
  return changed(
    orders,
    ids.map((id) => [id, 'cancelled']),
  );
}

/** Goes on with a file of an earlier version, and with a new key. */
export async function upgrade(day: Day): Promise<void> {
  await day.stop('SIGTERM');
  const file = join(day.cwd, 'store-orders.db');
  for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
  copyFileSync(OLD_FILE, file);
  day.expect(OLD_WORLD);
  await ACTS['create a key']?.(day);
}

/** Waits until a server has noticed whether a key is valid. */
async function noticed(day: Day, keyId: string, status: 200 | 401): Promise<void> {
  if (day.isRunning()) await until(async () => (await day.ask(keyId))?.status === status, NOTICED_MS);
}

/** What customers, the operator and the machine may do in a day. */
export const ACTS: Readonly<Record<string, (day: Day) => Promise<void>>> = {
  upgrade,
  serve: (day) => day.start(),
  stop: (day) => day.stop('SIGTERM'),
  kill: (day) => day.stop('SIGKILL'),

  async cancel(day) {
    await day.start();
    assert.deepEqual(await cancel(day), []);
  },

  async 'cancel, kill'(day) {
    await day.start();
    const cancelling = cancel(day);
    await sleep(day.number(30));
    await day.stop('SIGKILL');
    const unanswered = await cancelling;
    // Each of these orders may be cancelled or not.
    const { orders } = await day.observe();
    const done = unanswered.filter((id) => orders.get(id) === 'cancelled');
    day.expect({ orders: withCancelled(day.world().orders, done) });
  },

  async import(day) {
    const { orders } = day.world();
    const given = someIds(day).map((id) => [id, day.pick(['pending', 'shipped'])] as const);
    const replaces = day.number(2) === 0;
    const taken = given.findIndex(([id]) => orders.has(id));
    const args = ['orders', 'import', '-', ...(replaces ? ['--replace'] : [])];
    const { code, stderr } = await run(args, { cwd: day.cwd, input: linesOf(given) });
    if (replaces || taken < 0) {
      assert.deepEqual([code, stderr], [0, '']);
      day.expect({ orders: changed(orders, given) });
    } else {
      assert.equal(code, 1);
      assert.ok(
        stderr.startsWith(`store-orders: stdin:${taken + 1}: the id ${given[taken]?.[0]} is already stored`),
        stderr,
      );
    }
  },

  async 'import, kill'(day) {
    const given = day.newIds(50 * SOME).map((id) => [id, 'pending'] as const);
    const after = { ...day.world(), orders: changed(day.world().orders, given) };
    await day.killed(['orders', 'import', '-'], after, linesOf(given));
  },

  async ship(day) {
    const { orders } = day.world();
    const id = day.pick([...orders.keys()]);
    const { code } = await run(['orders', 'ship', '--', `${id}`], day);
    assert.equal(code, orders.get(id) === 'pending' ? 0 : 1);
    if (code === 0) day.expect({ orders: changed(orders, [[id, 'shipped']]) });
  },

  async 'create a key'(day) {
    const keyId = await day.createKey();
    day.expect({ keys: new Map([...day.world().keys, [keyId, false]]) });
    await noticed(day, keyId, 200);
  },

  async 'revoke a key'(day) {
    const keyId = day.pick(day.keyIds());
    const { code } = await run(['keys', 'revoke', keyId], day);
    assert.equal(code, day.world().keys.get(keyId) === true ? 1 : 0);
    day.expect({ keys: new Map([...day.world().keys, [keyId, true]]) });
    await noticed(day, keyId, 401);
  },

  async backup(day) {
    const name = `${day.newIds(1)}.db`;
    await answerOf(['db', 'backup', name], day);
    day.backups.push({ name, world: day.world() });
  },

  async 'backup, kill'(day) {
    const name = `${day.newIds(1)}.db`;
    const hasEnded = await day.killed(['db', 'backup', name], day.world());
    // A file with this name is a whole backup.
    if (existsSync(join(day.cwd, name))) day.backups.push({ name, world: day.world() });
    else assert.ok(!hasEnded);
  },

  async restore(day) {
    if (day.backups.length === 0) return;
    const before = day.pick(['as it is', 'SIGTERM', 'SIGKILL'] as const);
    // A killed server leaves its log, and nobody opens the file before the restore.
    if (before === 'SIGKILL') await ACTS['cancel']?.(day);
    if (before !== 'as it is') await day.stop(before);
    const { name, world } = day.pick(day.backups);
    const { stderr } = await run(['db', 'restore', name], day);
    if (day.isRunning()) assert.equal(stderr, 'store-orders: a server runs on store-orders.db; stop it first\n');
    else {
      assert.equal(stderr, '');
      day.expect(world);
    }
  },

  async 'restore, kill'(day) {
    if (day.backups.length === 0) return;
    await day.stop(day.pick(['SIGTERM', 'SIGKILL']));
    const { name, world } = day.pick(day.backups);
    await day.killed(['db', 'restore', name], world);
  },
};
