import assert from 'node:assert/strict';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerOf } from '../../../program/support/program.js';
import { run } from '../../../program/support/run.js';
import { until } from '../../../support/until.js';
import { changed, type Day } from './day.js';

/** How many orders a step imports or cancels. */
const SOME = 20;
const OLD_FILE = new URL('../../formats/stored/0.1.0.db', import.meta.url);

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
  const valid = day.validKeyIds();
  const keyId = day.pick(valid.length > 0 && day.number(4) > 0 ? valid : day.keyIds());
  const isRevoked = keys.get(keyId) === true;
  const unanswered: bigint[] = [];
  const cancelled: bigint[] = [];
  await Promise.all(
    someIds(day).map(async (id) => {
      const found = orders.get(id);
      const expected = isRevoked ? 401 : found === undefined ? 404 : found === 'pending' ? 204 : 409;
      const answer = await day.ask(keyId, id);
      if (answer === undefined) unanswered.push(id);
      else assert.equal(answer.status, expected, `order ${id}, ${found}: ${answer.body}`);
      if (answer?.status === 204) cancelled.push(id);
    }),
  );
  expectCancelled(day, cancelled);
  return isRevoked ? [] : unanswered.filter((id) => day.world().orders.get(id) === 'pending');
}

function expectCancelled(day: Day, ids: readonly bigint[]): void {
  const cancelled = ids.map((id) => [id, 'cancelled'] as const);
  day.expect({ orders: changed(day.world().orders, cancelled) });
}

/** Goes on with a file of an earlier version, and with a new key. */
export async function upgrade(day: Day): Promise<void> {
  await day.stop('SIGTERM');
  const file = join(day.cwd, 'store-orders.db');
  for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
  copyFileSync(OLD_FILE, file);
  // Only a server migrates it.
  await day.start();
  await day.stop('SIGTERM');
  day.expect(await day.observe());
  await ACTS['create a key']?.(day);
}

/** Waits until a server has noticed whether a key is valid. */
async function noticed(day: Day, keyId: string, status: 200 | 401): Promise<void> {
  if (day.isRunning()) await until(async () => (await day.ask(keyId))?.status === status);
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
    expectCancelled(day, done);
  },

  async import(day) {
    const { orders } = day.world();
    const given = someIds(day).map((id) => [id, day.pick(['pending', 'shipped'])] as const);
    const replaces = day.number(2) === 0;
    const args = ['orders', 'import', '-', ...(replaces ? ['--replace'] : [])];
    const { code, stderr } = await run(args, { cwd: day.cwd, input: linesOf(given) });
    const isRefused = !replaces && given.some(([id]) => orders.has(id));
    assert.equal(code, isRefused ? 1 : 0, stderr);
    if (!isRefused) day.expect({ orders: changed(orders, given) });
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
    const { code, stderr } = await run(['db', 'restore', name], day);
    assert.equal(code, day.isRunning() ? 1 : 0, stderr);
    if (!day.isRunning()) day.expect(world);
  },

  async 'restore, kill'(day) {
    if (day.backups.length === 0) return;
    await day.stop(day.pick(['SIGTERM', 'SIGKILL']));
    const { name, world } = day.pick(day.backups);
    await day.killed(['db', 'restore', name], world);
  },
};
