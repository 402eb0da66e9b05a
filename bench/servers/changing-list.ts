import { createServer } from 'node:http';
import { createServer as createRawServer, type Server } from 'node:net';
import { createMemoryLimiter, createOrderService, nodeHandler, type OwnedOrderStore, printOrders } from 'store-orders';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { announce } from './announce.js';
import { API_KEY, FIRST_ID, manyOrders } from './orders.js';
import { PLENTY } from './plenty.js';
import { createTurnWatch } from './turns.js';

// A server with a long list of orders. Every ten milliseconds, it changes one order somewhere in
// the list.
const [way = '', orders = '0', file = ''] = process.argv.slice(2);
const count = Number(orders);
const CHANGE_EVERY_MS = 10;

/**
 * Creates a server that sends the batches of the list, serialised in advance, over a raw socket.
 */
function rawServer(): Server {
  const batches = manyOrders(count)
    .list()
    .map((batch, index) => Buffer.from(`${index === 0 ? '[' : ','}${printOrders([batch].flat()).slice(1, -1)}`));
  batches.push(Buffer.from(']'));
  const length = batches.reduce((sum, batch) => sum + batch.length, 0);
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  return createRawServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => {
      socket.cork();
      socket.write(head);
      for (const batch of batches) socket.write(batch);
      socket.uncork();
    });
  });
}

async function filledFile(): Promise<OwnedOrderStore> {
  const store = openSqliteOrderStore(file);
  for (const batch of manyOrders(count).list()) await store.put([batch].flat());
  return store;
}

function serviceOver(store: OwnedOrderStore): Server {
  const service = createOrderService({
    store,
    limiter: createMemoryLimiter(),
    authenticate: (apiKey) => (apiKey === API_KEY ? { id: 'bench', plan: PLENTY } : undefined),
  });
  return createServer(nodeHandler(service));
}

const store = way === 'raw' ? undefined : way === 'memory' ? manyOrders(count) : await filledFile();
const turns = createTurnWatch();
let kind: unknown = '';
let changes = 0;
let dueMs = 0;

async function changeOne(): Promise<void> {
  const id = BigInt(FIRST_ID + ((Math.imul(++changes, 0x9e3779b1) >>> 0) % count));
  if (kind === 'replaced') await store?.put([{ id, petId: changes, quantity: 1 }], { replace: true });
  else if (changes % 2 === 0) await store?.cancel(id);
  else await store?.ship(id);
}

function changeThoseDue(): void {
  for (; kind !== '' && dueMs <= performance.now(); dueMs += CHANGE_EVERY_MS) changeOne();
}

announce((store === undefined ? rawServer() : serviceOver(store)).listen(0, '127.0.0.1'), (message) => {
  if (kind !== message) dueMs = performance.now();
  kind = message;
  return turns();
});
setInterval(changeThoseDue, CHANGE_EVERY_MS);
