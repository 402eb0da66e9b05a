import { parseArgs } from 'node:util';
import fastify, { LogController } from 'fastify';
import pino from 'pino';
import { RateLimiterMemory, RateLimiterUnion } from 'rate-limiter-flexible';

// A program that does the job of `store-orders serve` without this package, as a careful team
// writes it for one machine: Fastify, a line of pino for each request, orders in SQLite, a minute
// window and a day window, and exact order ids. `--log none` leaves out the lines. It is JavaScript,
// so that its start can be measured without a compiler. It reads a file that store-orders has
// created.
const { values: options } = parseArgs({
  options: { db: { type: 'string' }, port: { type: 'string' }, log: { type: 'string', default: 'requests' } },
});
const [PER_MINUTE, PER_DAY] = [1e9, 2e9];
const keyIds = new Map([[process.env.API_KEY, 'bench']]);

// better-sqlite3 does not load on Node.js 20. libsql has the same interface and does.
const isOld = process.version.startsWith('v20.');
const { default: Database } = await (isOld ? import('libsql') : import('better-sqlite3'));
const database = new Database(options.db);
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000');
const update = database.prepare("UPDATE orders SET status = 'cancelled' WHERE id = ? AND status = 'pending'");
const selectStatus = database.prepare('SELECT status FROM orders WHERE id = ?');
const selectVersion = database.prepare('PRAGMA data_version');
const selectList = database.prepare(
  `SELECT json_group_array(json_patch('{}', json_object('id', id, 'petId', pet_id, 'quantity', quantity,
     'shipDate', ship_date, 'complete', json(iif(complete, 'true', 'false'))))) AS body
   FROM (SELECT * FROM orders ORDER BY id)`,
);

// The list is read and serialised again only after another process has changed the file. A cancel
// of this process changes no listed field.
let listed = { version: undefined, body: '' };
function list() {
  const { data_version: version } = selectVersion.get();
  if (version !== listed.version) listed = { version, body: selectList.get().body };
  return listed.body;
}

const MOST_ID = 2n ** 63n - 1n;
const isOrderId = (text) => /^(?:0|[1-9]\d{0,18})$/.test(text) && BigInt(text) <= MOST_ID;

function cancel(idText) {
  if (!isOrderId(idText)) return INVALID;
  const id = BigInt(idText);
  if (update.run(id).changes === 1) return CANCELLED;
  const order = selectStatus.get(id);
  return order === undefined ? MISSING : (CONFLICTS[order.status] ?? NOT_PENDING);
}

const error = (status, code, message) => ({ status, body: JSON.stringify({ code, message, status }) });
const UNAUTHORIZED = error(401, 'invalid_api_key', 'The API key is not valid.');
const REFUSED = error(429, 'rate_limit_exceeded', 'The quota is used up.');
const INVALID = error(404, 'invalid_order_id', 'An order id is a decimal integer of 64 bits.');
const MISSING = error(404, 'order_not_found', 'There is no order with this id.');
const NOT_PENDING = error(409, 'order_not_pending', 'Only a pending order can be cancelled.');
const CONFLICTS = {
  shipped: error(409, 'order_already_shipped', 'The order has already shipped.'),
  cancelled: error(409, 'order_already_cancelled', 'The order is already cancelled.'),
};
const CANCELLED = { status: 204 };

const quotas = new RateLimiterUnion(
  new RateLimiterMemory({ keyPrefix: 'minute', points: PER_MINUTE, duration: 60 }),
  new RateLimiterMemory({ keyPrefix: 'day', points: PER_DAY, duration: 86_400 }),
);

function send(reply, { status, body }) {
  reply.code(status);
  return body === undefined ? reply.send() : reply.type('application/json').send(body);
}

// pino's documentation recommends writing in batches for speed.
const loggerInstance = pino(pino.destination({ dest: 1, sync: false, minLength: 4_096 }));
const logController = new LogController({ disableRequestLogging: true });
const app = fastify(options.log === 'none' ? {} : { loggerInstance, logController });
app.decorateRequest('keyId', '');
app.addHook('onRequest', async (request, reply) => {
  const { authorization = '' } = request.headers;
  const keyId = authorization.startsWith('Bearer ') ? keyIds.get(authorization.slice('Bearer '.length)) : undefined;
  if (keyId === undefined) return send(reply, UNAUTHORIZED);
  request.keyId = keyId;
  try {
    const { minute } = await quotas.consume(keyId);
    reply.headers({
      'X-RateLimit-Limit': PER_MINUTE,
      'X-RateLimit-Remaining': minute.remainingPoints,
      'X-RateLimit-Reset': Math.ceil((Date.now() + minute.msBeforeNext) / 1_000),
    });
  } catch (refused) {
    if (refused instanceof Error) throw refused;
    const { minute, day } = refused;
    const waitMs = Math.max(minute?.msBeforeNext ?? 0, day?.msBeforeNext ?? 0);
    return send(reply.header('Retry-After', Math.ceil(waitMs / 1_000)), REFUSED);
  }
});
if (options.log !== 'none') {
  app.addHook('onResponse', (request, reply, done) => {
    const { id, method, url, ip, keyId } = request;
    const { statusCode: status, elapsedTime: durationMs } = reply;
    app.log.info({ requestId: id, method, path: url, clientAddress: ip, status, keyId, durationMs }, 'request');
    done();
  });
}
app.get('/v1/store/orders', (_, reply) => {
  reply.type('application/json').send(list());
});
app.delete('/v1/store/orders/:id', (request, reply) => {
  send(reply, cancel(request.params.id));
});

console.log(JSON.stringify({ url: await app.listen({ host: '127.0.0.1', port: Number(options.port) }) }));
