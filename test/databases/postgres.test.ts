import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import pg from 'pg';
import { holdConnection } from '../../dist/databases/postgres/client.js';
import { listenOnFreePort } from '../support/listen.js';

/** PostgreSQL's messages AuthenticationOk, ReadyForQuery and ErrorResponse, in one packet. */
const FIRST_AND_LAST_PACKET = Buffer.concat([
  message('R', '\0\0\0\0'),
  message('Z', 'I'),
  message('E', 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'),
]);

test('a connection that PostgreSQL ends in its first packet makes the next query fail with the reason, and does not end the process', async (t) => {
  const server = createServer((socket) => socket.once('data', () => socket.end(FIRST_AND_LAST_PACKET)));
  const port = await listenOnFreePort(server);
  t.after(() => server.close());
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'postgres' });
  t.after(() => pool.end());
  const client = await holdConnection((taken) => void pool.connect(taken));
  await new Promise(setImmediate);
  await assert.rejects(client.query({ text: 'BEGIN' }), /terminating connection due to administrator command/);
  client.release(true);
  assert.equal(pool.totalCount, 0, 'the next list gets another connection');
});

test('a pool whose connect returns a promise lends that connection, and the error of a promise or a callback is passed on', async () => {
  const query = async () => ({ rows: [{ id: '1' }] });
  const client = await holdConnection(async () => ({ query, release() {} }));
  assert.deepEqual((await client.query({ text: 'SELECT 1 AS id' })).rows, [{ id: '1' }]);
  const lent = Object.assign(new EventEmitter(), { query, release() {} });
  (await holdConnection((taken) => void taken(undefined, lent))).release();
  assert.equal(lent.listenerCount('error'), 0, 'a released connection has no listener');
  const full = new Error('no connection is free');
  for (const connect of [() => Promise.reject(full), (taken: (error: unknown) => void) => void taken(full)]) {
    await assert.rejects(holdConnection(connect), full);
  }
});

function message(type: string, content: string): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0${content}`);
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}
