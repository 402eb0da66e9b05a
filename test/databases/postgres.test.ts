import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import { holdConnection } from '../../dist/databases/postgres/client.js';
import { createPatientClient } from '../../dist/databases/postgres/patient-client.js';
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
  await setImmediate();
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

test('an abandoned statement keeps its place until the server has ended it, as the server says itself', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const [sent, released]: [string[], unknown[]] = [[], []];
  const replies: ((reply: { rows: [] }) => void)[] = [];
  const answers: (boolean | Error)[] = [true, new Error('the server does not respond'), true, false];
  const client = createPatientClient(
    async () => ({
      query({ text }) {
        sent.push(text);
        return new Promise((resolve) => replies.push(resolve));
      },
      release: (destroy) => void released.push(destroy),
    }),
    {
      most: 2,
      replyMs: 6_000,
      hasLongStatement() {
        const answer = answers.shift() ?? false;
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
    },
  );
  const [first, second] = ['a', 'b'].map((text) => client.query({ text }));
  const third = client.query({ text: 'c' });
  await setImmediate();
  assert.deepEqual(sent, ['a', 'b']);
  const late = [first, second].map((each) => assert.rejects(async () => each, /has not replied within 6 s/));
  const full = assert.rejects(third, /has not ended 2 earlier statements/);
  t.mock.timers.tick(6_000);
  await Promise.all([...late, full]);
  replies[0]?.({ rows: [] });
  await setImmediate();
  assert.deepEqual(released, [false], 'its reply came');
  const waiting = [client.query({ text: 'd' })];
  for (const left of [3, 2, 1, 0]) {
    t.mock.timers.tick(500);
    if (left === 0) waiting.push(client.query({ text: 'e' }));
    t.mock.timers.tick(500);
    await setImmediate();
    assert.equal(answers.length, left);
    assert.deepEqual(released, left === 0 ? [false, true] : [false]);
  }
  assert.deepEqual(sent, ['a', 'b', 'd', 'e']);
  for (const reply of replies) reply({ rows: [] });
  await Promise.all(waiting);
  t.mock.timers.tick(1_000);
  await setImmediate();
  assert.deepEqual(released, [false, true, false, false]);
});

test('a connection is closed if its server is read-only, because a new one may lead to another server after a failover; any other is kept', async () => {
  const released: unknown[] = [];
  for (const code of ['25006', '23514']) {
    const query = () => Promise.reject(Object.assign(new Error('refused'), { code }));
    const client = createPatientClient(async () => ({ query, release: (destroy) => void released.push(destroy) }), {
      most: 1,
      replyMs: 6_000,
      hasLongStatement: async () => false,
    });
    await assert.rejects(client.query({ text: 'a' }), /refused/);
  }
  assert.deepEqual(released, [true, false]);
});

function message(type: string, content: string): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0${content}`);
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}
