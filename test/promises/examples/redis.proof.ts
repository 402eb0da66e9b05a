import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import { listenOnFreePort } from '../../support/listen.js';
import { skip, startRedis } from '../../support/redis-server.js';
import { until } from '../../support/until.js';
import { headers, serveExample } from './support/start.js';

test('examples/redis.ts: after a failover, a process counts in the server to which the name now leads', {
  skip,
}, async (t) => {
  const [old, next] = await Promise.all([startRedis(), startRedis()]);
  let primary = old.port;
  const name = createServer((socket) => {
    const server = connect(primary, '127.0.0.1');
    for (const side of [socket, server]) side.on('error', () => {});
    socket.pipe(server).pipe(socket);
  });
  const place = { variables: { REDIS_URL: `redis://127.0.0.1:${await listenOnFreePort(name)}` } };
  const origin = await serveExample(t, 'redis.ts', place);
  t.after(() => Promise.all([name.close(), old.stop(), next.stop()]));
  const ask = () => fetch(`${origin}/v1/store/orders`, { headers });
  await until(async () => {
    await ask();
    return (await old.client.dbsize()) === 1;
  });
  primary = next.port;
  await old.client.replicaof('127.0.0.1', 1);
  await until(async () => {
    await ask();
    return (await next.client.dbsize()) === 1;
  });
});
