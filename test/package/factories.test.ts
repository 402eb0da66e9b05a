import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as root from 'store-orders';
import * as fastify from 'store-orders/fastify';
import * as fetching from 'store-orders/fetch';
import * as guarding from 'store-orders/guard';
import * as koa from 'store-orders/koa';
import * as openapi from 'store-orders/openapi';
import * as postgres from 'store-orders/postgres';
import * as redis from 'store-orders/redis';
import * as server from 'store-orders/server';
import * as sqlite from 'store-orders/sqlite';
import * as storing from 'store-orders/store';
import * as testing from 'store-orders/testing';

const store = root.createMemoryOrderStore();
const limiter = root.createMemoryLimiter();
const parts = { store, limiter, authenticate: () => undefined };
const { store: _, ...admission } = parts;
const service = root.createOrderService(parts);
const guard = guarding.createGuard(admission);
const pool = { query: async () => ({ rows: [] }) };
const orderTable = { table: 'orders', columns: { id: 'id', status: 'status' } };
const plan = { name: 'p', policies: [root.perMinute(1)] };

interface Row {
  /**
   * Valid arguments of the factory. To test unknown options, the test adds one to the last
   * argument.
   */
  readonly good: readonly unknown[];
  /** The values in {@link FIRST} that the factory accepts as its first argument. */
  readonly accepts?: readonly unknown[];
  /** Matches the beginning of each error message: the name of the parameter or option. */
  readonly names: RegExp;
  /**
   * Rows of further invalid arguments. The first item of a row is the beginning of the error
   * message.
   */
  readonly wrong?: readonly (readonly [string, ...unknown[]])[];
  /** Whether the last argument may have unknown fields. */
  readonly isOpen?: boolean;
}

const SERVICE: Row = { good: [service], names: /^service: /, isOpen: true };
const MOUNT: Row = {
  good: [service, {}],
  names: /^service: /,
  wrong: [['clientAddress: ', service, { clientAddress: 5 }]],
};
const ADMISSION = [
  ['basePath: ', { ...parts, basePath: 7 }],
  ['addressPlan: ', { ...parts, addressPlan: root.PLANS.free }],
  ['draftFields: ', { ...parts, draftFields: 'no' }],
  ['plan', { ...parts, addressPlan: { partition: 'address' } }],
  ['isKnownKey: ', { ...parts, isKnownKey: true }],
  ['limiter: ', { ...parts, limiter: undefined }],
  ['store: ', { ...parts, store: {} }],
  ['authenticate: ', { ...parts, authenticate: 'sesame' }],
] as const;
const FREE = ['options', 'basePath', 'limiter', 'store', 'authenticate'];
const OPTIONS = new RegExp(`^(?:${FREE.join('|')}|frobnicate): `);

const FACTORIES: Readonly<Record<string, Row>> = {
  createKeyAuthenticator: { good: [{}], names: /^keys: /, accepts: [{}], isOpen: true },
  createMemoryLimiter: {
    good: [{}],
    accepts: [undefined, {}],
    names: /^(?:options|frobnicate): /,
    wrong: [
      ['clock: ', { clock: {} }],
      ['clock: ', { clock: Date.now }],
      ['maxAddresses: ', { maxAddresses: '5' }],
    ],
  },
  createMemoryOrderStore: { good: [[]], accepts: [undefined], names: /^orders: /, isOpen: true },
  createOrderService: { good: [parts], names: OPTIONS, wrong: ADMISSION },
  createPlan: { good: [plan], names: /^plan/ },
  forwardedAddress: { good: [1], accepts: [7], names: /^proxies: /, isOpen: true },
  nodeHandler: MOUNT,
  fetchHandler: MOUNT,
  fastifyPlugin: SERVICE,
  koaMiddleware: SERVICE,
  createGuard: { good: [admission], names: OPTIONS },
  nodeGuard: { good: [guard, {}], names: /^guard: /, wrong: [['clientAddress: ', guard, { clientAddress: 5 }]] },
  fetchGuard: {
    good: [guard, () => new Response(), {}],
    names: /^guard: /,
    wrong: [
      ['handle: ', guard],
      ['clientAddress: ', guard, () => new Response(), { clientAddress: 5 }],
    ],
  },
  announcementFields: {
    good: [{}],
    accepts: [{}],
    names: /^(?:options|frobnicate): /,
    wrong: [['deprecatedAt: ', { deprecatedAt: '2026-01-01' }]],
  },
  createOpenApiDocument: {
    good: [{}],
    accepts: [undefined, {}],
    names: /^(?:options|frobnicate): /,
    wrong: [['basePath: ', { basePath: 7 }]],
  },
  createSqliteOrderStore: { good: [sqlite.openSqliteDatabase(':memory:')], names: /^database: /, isOpen: true },
  openSqliteDatabase: { good: [':memory:'], names: /^file: /, isOpen: true },
  openSqliteOrderStore: { good: ['nowhere/orders.db'], names: /^file: /, isOpen: true },
  createMappedOrderStore: {
    good: [pool, orderTable],
    names: /^(?:pool: |table\.)/,
    wrong: [
      ['table: ', pool],
      ['table.columns: missing', pool, { table: 'orders' }],
      ['columns.petID: ', pool, { ...orderTable, columns: { ...orderTable.columns, petID: 'pet' } }],
      ['statuses.canceled: ', pool, { ...orderTable, statuses: { canceled: 'canceled' } }],
    ],
  },
  createPostgresOrderStore: { good: [pool], names: /^pool: /, isOpen: true },
  createRedisLimiter: {
    good: [{ send: pool.query }],
    names: /^(?:options|send|frobnicate): /,
    wrong: [['clock: ', { send: pool.query, clock: {} }]],
  },
  createOrderServer: {
    good: [{ ...parts, trustProxy: 1 }],
    names: OPTIONS,
    wrong: [
      ...ADMISSION,
      ['trustProxy: ', { ...parts, trustProxy: '1' }],
      [
        'trustProxies: unknown option; expected one of store, basePath, trustProxy, maxConnectionsPerAddress, corsOrigins, backends, limiter, ',
        { ...parts, trustProxies: 1 },
      ],
      ['maxConnectionsPerAddress: ', { ...parts, maxConnectionsPerAddress: '1' }],
      ['corsOrigins: ', { ...parts, corsOrigins: 'https://shop.example' }],
      ['corsOrigins: ', { ...parts, corsOrigins: null }],
      ['backends: ', { ...parts, backends: 7 }],
      ['backends.db: ', { ...parts, backends: { db: 'ok' } }],
    ],
  },
  createManualClock: {
    good: [0],
    accepts: [undefined, 7],
    names: /^startMs: /,
    wrong: [
      ['startMs: ', 0.5],
      ['startMs: ', new Date(0)],
    ],
    isOpen: true,
  },
  createTestService: {
    good: [{}],
    accepts: [undefined, {}],
    names: /^(?:options|frobnicate): /,
    wrong: [
      ['orders: ', { orders: {} }],
      ['plan', { plan: 'free' }],
      ['plan', { plan: {} }],
      ['clock: ', { clock: {} }],
      ['clock: ', { clock: { nowMs: () => 0, utcOffsetMs: () => 0 } }],
      ['store: ', { store }],
    ],
  },
  orderStoreSuite: { good: [() => ({ store })], names: /^open: /, isOpen: true },
  rateLimiterSuite: { good: [() => ({ limiter })], names: /^open: /, isOpen: true },
  serviceAudits: { good: [{ url: 'http://127.0.0.1:1/v1', apiKey: 'sesame' }], names: /^url: /, isOpen: true },
};

/** Exported functions that are not factories, because they create nothing from options. */
const OTHERS = [
  'cancelOutcome createDateClock parseOrderId',
  'perDay perMinute principalOf serializeOpenApiDocument serializeOrder shipOutcome',
].flatMap((names) => names.split(' '));

const modules = [root, fastify, fetching, guarding, koa, openapi, postgres, redis, server, sqlite, storing, testing];
const exported = new Map(modules.flatMap((module) => Object.entries<unknown>({ ...module })));

/**
 * Calls a factory with arguments of any type, as JavaScript code can. Resolves with the result or
 * the error.
 */
async function outcomeOf(name: string, args: readonly unknown[]): Promise<unknown> {
  const factory = exported.get(name);
  assert.ok(typeof factory === 'function', name);
  try {
    return await Reflect.apply(factory, undefined, args);
  } catch (error) {
    return error;
  }
}

async function throwsFor(name: string, args: readonly unknown[], says: RegExp | string): Promise<void> {
  const error = await outcomeOf(name, args);
  const what = `${name}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`;
  assert.ok(error instanceof TypeError || error instanceof RangeError, `${what} accepts it`);
  if (typeof says === 'string') assert.ok(error.message.startsWith(says), `${what}: ${error.message}`);
  else assert.match(error.message, says, what);
}

const FIRST = [undefined, null, {}, 7, { frobnicate: 1 }];

for (const [name, { good, names, accepts = [], wrong = [], isOpen = false }] of Object.entries(FACTORIES)) {
  test(`the error of ${name} for an invalid argument names the parameter or option`, async () => {
    const right = await outcomeOf(name, good);
    assert.ok(!(right instanceof TypeError || right instanceof RangeError), String(right));
    for (const first of FIRST) {
      if (accepts.some((accepted) => JSON.stringify(accepted) === JSON.stringify(first))) continue;
      await throwsFor(name, first === undefined ? [] : [first], names);
    }
    if (!isOpen)
      await throwsFor(
        name,
        [...good.slice(0, -1), Object.assign({ ...Object(good.at(-1)) }, { frobnicate: 1 })],
        /frobnicate/,
      );
    for (const [says, ...args] of wrong) await throwsFor(name, args, says);
  });
}

test('every exported function is in the table of factories or in the list of other functions', () => {
  const functions = [...exported].filter(([, value]) => typeof value === 'function' && !/^class\b/.test(String(value)));
  assert.deepEqual(functions.map(([name]) => name).sort(), [...Object.keys(FACTORIES), ...OTHERS].sort());
});
