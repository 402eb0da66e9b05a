import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { openPostgresStorage } from '../../../dist/program/storage/postgres.js';
import { listenOnFreePort } from '../../support/listen.js';

test('a database server that accepts a connection but does not respond is waited for 2 s', async (t) => {
  const silent = createServer();
  t.after(() => silent.close());
  const url = `postgres://127.0.0.1:${await listenOnFreePort(silent)}/shop`;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const opened = openPostgresStorage(url);
  const [connection] = await once(silent, 'connection');
  t.mock.timers.tick(2_000);
  // A client that still waits gets a different error.
  connection.destroy();
  assert.deepEqual(await opened, { ok: false, message: `cannot open the database ${url}: timeout expired` });
});
