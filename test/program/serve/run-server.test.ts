import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runServer } from '../../../dist/program/serve/run-server.js';
import { readSettings } from '../../../dist/program/settings/read-settings.js';
import { openServerStorage } from '../../../dist/program/storage/open.js';
import { createDeferred } from '../../support/until.js';

test('a server that stops no longer asks a database that fails, because it would wait for the answer', async (t) => {
  const flags = new Map([
    ['db', ':memory:'],
    ['port', '0'],
  ]);
  const { settings } = readSettings({ flags, environment: {} });
  const opened = await openServerStorage(settings);
  assert.ok(opened.ok);
  const state = t.mock.fn(() => Promise.reject(new Error('down')));
  const listening = createDeferred<string>();
  const stopped = createDeferred<(reason: object) => void>();
  const note = (event: string, fields: object = {}) => {
    if (event === 'listening' && 'url' in fields) listening.resolve(String(fields.url));
  };
  const log = { event: note, error: note, request() {}, flush() {}, dropped: 0 };
  const lifecycle = { worker: 2, report: note, onStop: stopped.resolve };
  const ended = runServer(settings, { storage: { ...opened.storage, state } }, log, lifecycle, '');
  const url = await listening.promise;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const ready = await fetch(new URL('/readyz', url), { headers: { connection: 'close' } });
  assert.deepEqual([ready.status, state.mock.callCount()], [503, 1]);
  (await stopped.promise)({});
  t.mock.timers.tick(1_000);
  assert.equal(state.mock.callCount(), 1);
  assert.deepEqual(await ended, { exitCode: 0 });
});
