import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { withBackendEvents } from '../../../dist/program/serve/backend-events.js';
import { createDeferred } from '../../support/until.js';

/** Returns a watched database, how often it was asked, and the lines of its log. */
function watched(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lines: unknown[] = [];
  const check = t.mock.fn(async (): Promise<'ok'> => 'ok');
  const note = (event: string, fields?: object) => lines.push([event, fields]);
  const database = withBackendEvents(check, { event: note, error: note });
  t.after(database.close);
  async function tick(): Promise<void> {
    t.mock.timers.tick(1_000);
    await setImmediate();
  }
  return { database, check, lines, tick };
}

const fail = (message: string) => () => Promise.reject(new Error(message));

test('the first failure is logged with its reason, and so is the next success, but nothing in between', async (t) => {
  const { database, check, lines, tick } = watched(t);
  assert.equal(await database.state(), 'ok');
  check.mock.mockImplementation(fail('connection refused'));
  assert.deepEqual([await database.state(), await database.state()], ['unavailable', 'unavailable']);
  assert.deepEqual(lines, [['database unavailable', { error: 'connection refused' }]]);
  await tick();
  check.mock.mockImplementation(async () => 'ok');
  await tick();
  assert.deepEqual(lines.slice(1), [['database works again', undefined]]);
  const asked = check.mock.callCount();
  await tick();
  assert.equal(check.mock.callCount(), asked, 'a database that works is asked by nobody');
});

test('after failed requests the database is asked within a second, once', async (t) => {
  const { database, check, lines, tick } = watched(t);
  for (let failures = 0; failures < 10; failures++) database.suspect();
  assert.equal(check.mock.callCount(), 0);
  await tick();
  await tick();
  assert.deepEqual([check.mock.callCount(), lines], [1, []]);
  check.mock.mockImplementation(fail('down'));
  database.suspect();
  await tick();
  assert.deepEqual(lines, [['database unavailable', { error: 'down' }]]);
});

test('concurrent questions share one answer, and a closed server logs nothing more', async (t) => {
  const { database, check, lines, tick } = watched(t);
  const answer = createDeferred<'ok'>();
  check.mock.mockImplementation(() => answer.promise);
  const states = [database.state(), database.state()];
  assert.equal(check.mock.callCount(), 1);
  answer.resolve('ok');
  assert.deepEqual(await Promise.all(states), ['ok', 'ok']);
  check.mock.mockImplementation(fail('closed'));
  const last = database.state();
  database.close();
  assert.equal(await last, 'unavailable');
  database.suspect();
  await tick();
  assert.deepEqual([check.mock.callCount(), lines], [2, []]);
});
