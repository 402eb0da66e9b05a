// A worker whose server sends its number to each client. If its number is in FAIL, it cannot start. If its number is in UNCLEAN,
// it exits with 3 when it must drain. At SIGHUP, it closes the channel to its primary, and stays.

import cluster from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:net';

const number = process.env['STORE_ORDERS_WORKER'] ?? '';
const isIn = (list) => (process.env[list] ?? '').includes(number);

process.on('SIGTERM', () => {});
process.on('SIGHUP', () => {
  Object.assign(cluster.worker ?? {}, { exitedAfterDisconnect: true });
  process.once('disconnect', () => console.log('{"event":"disconnected"}')).disconnect();
});
process.on('message', (message) => {
  if (message === 'drain') process.exit(isIn('UNCLEAN') ? 3 : 0);
  if (message === 'respond') process.send?.({ responds: true });
});
if (isIn('FAIL')) process.send?.({ failed: 'no room' });
else {
  const server = createServer((socket) => socket.end(number)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.({ listening: { url: `tcp://127.0.0.1:${server.address()?.port}` } });
}
