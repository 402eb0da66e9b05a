import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import pg from 'pg';
import { holdConnection } from '../../dist/databases/postgres/client.js';
import { createSnapshotReader } from '../../dist/databases/postgres/list-connections.js';
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

test('at most four lists are read at once, each in a transaction; a further one fails after 5 s; a list that fails or ends early closes its connection', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const [asked, destroyed]: [string[], unknown[]] = [[], []];
  const readSnapshot = createSnapshotReader(async () => ({
    async query({ text }) {
      asked.push(text);
      return { rows: [] };
    },
    release: (destroy) => void destroyed.push(destroy),
  }));
  const readers = Array.from({ length: 6 }, () =>
    readSnapshot(async function* () {
      yield 'page';
    }),
  );
  const pages = readers.map((reader) => reader.next());
  await Promise.all(pages.slice(0, 4));
  const failed = assert.rejects(async () => pages[5], { message: 'every connection for long lists is in use' });
  t.mock.timers.tick(4_999);
  await assert.rejects(async () => readers[0]?.throw(new Error('no answer')), /no answer/);
  assert.deepEqual(await pages[4], { done: false, value: 'page' });
  t.mock.timers.tick(1);
  await failed;
  await readers[1]?.next();
  await Promise.all(readers.map((reader) => reader.return(undefined)));
  assert.deepEqual(destroyed, [true, false, true, true, true]);
  const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
  assert.deepEqual(asked, [...Array(5).fill(begin), 'COMMIT']);
});

function message(type: string, content: string): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0${content}`);
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}
