import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { inspect, isDeepStrictEqual } from 'node:util';
import * as root from 'store-orders';
import { createGuard } from 'store-orders/guard';

const store = root.createMemoryOrderStore();
const limiter = root.createMemoryLimiter();
const parts = { store, limiter, authenticate: () => undefined };
const { store: _, ...admission } = parts;
const service = root.createOrderService(parts);
const guard = createGuard(admission);
const pool = { query: async () => ({ rows: [] }) };
const orderTable = { table: 'orders', columns: { id: 'id', status: 'status' } };
const plan = { name: 'p', policies: [root.perMinute(1)] };

interface Row {
  /** What an error for a value in {@link FIRST} begins with: the name of the parameter or option. */
  readonly names: string;
  /** The values in {@link FIRST} that the factory accepts as its first argument. */
  readonly accepts?: readonly unknown[];
  /**
   * Valid arguments, if the last one is an object that must not have unknown fields. Every other
   * option that the error for an unknown one lists must refuse -0.5.
   */
  readonly good?: readonly unknown[];
  /** Rows of further invalid arguments, each after the beginning of its error. */
  readonly wrong?: readonly (readonly [string, ...unknown[]])[];
}

const respond = () => {};
const NO_OWNS = [
  'service: expected the result of createOrderService, with the method owns',
  { respond, refuse: respond },
] as const;
const SERVICE: Row = { names: 'service', wrong: [NO_OWNS] };
const ADMISSION = [
  ['options: expected an object with store, limiter, authenticate and some of authenticateKnown, .*', null],
  ['store, limiter, authenticate: missing', {}],
  ['limiter, authenticate: missing', { store }],
  ["addressPlan: expected a plan with partition 'address'", { ...parts, addressPlan: root.PLANS.free }],
  ["addressPlan: expected a plan with partition 'address'", { ...parts, addressPlan: null }],
  ['plan.name', { ...parts, addressPlan: { partition: 'address' } }],
  ['limiter: missing', { ...parts, limiter: undefined }],
  ['store: expected an object with the method list', { ...parts, store: { cancel: store.cancel } }],
  ['store: expected an object with the method cancel', { ...parts, store: { list: store.list } }],
] as const;
const perform = () => ({ status: 204 });
const PATHS = [
  [
    'paths\\["status"\\]: expected a path such as "/status", without a query, in ASCII$',
    { ...parts, paths: { status: { perform } } },
  ],
  ['paths\\["/café"\\]', { ...parts, paths: { '/café': { perform } } }],
  ['paths\\["/a[?]b"\\]', { ...parts, paths: { '/a?b': { perform } } }],
  ['paths\\["/a"\\].perform: missing', { ...parts, paths: { '/a': {} } }],
  ['paths\\["/a"\\].perform: expected a function', { ...parts, paths: { '/a': { perform: 'ok' } } }],
  ['paths\\["/a"\\].allow', { ...parts, paths: { '/a': { perform, allow: 'get' } } }],
  ['paths\\["/a"\\].isAlwaysServed', { ...parts, paths: { '/a': { perform, isAlwaysServed: 1 } } }],
  [
    'paths\\["/v1/store/orders/7"\\]: this path is an operation of the service',
    { ...parts, paths: { '/v1/store/orders/7': { perform } } },
  ],
] as const;
const OPTIONS = 'options|(?:store, )?limiter, authenticate|basePath|limiter|store|authenticate|frobnicate';

const FACTORIES: Readonly<Record<string, Row>> = {
  createKeyAuthenticator: { names: 'keys', accepts: [{}] },
  createMemoryLimiter: {
    names: 'options|frobnicate',
    accepts: [undefined, {}],
    good: [{}],
    wrong: [
      ['options: expected an object with some of clock, maxAddresses', null],
      ['clock', { clock: {} }],
      ['clock', { clock: Date.now }],
    ],
  },
  createMemoryOrderStore: { names: 'orders', accepts: [undefined] },
  createOrderService: { names: OPTIONS, good: [parts], wrong: [...ADMISSION, ...PATHS] },
  fixedPath: { names: 'type', wrong: [['content', 'text/plain', 7]] },
  addressPerMinute: { names: 'quota', accepts: [7] },
  createPlan: { names: 'plan|plan.name', good: [plan] },
  forwardedAddress: { names: 'proxies', accepts: [7] },
  nodeHandler: {
    names: 'service',
    good: [service, {}],
    wrong: [NO_OWNS, ['service: expected the result of createOrderService, with the method refuse', { respond }]],
  },
  fetchHandler: { names: 'service', good: [service, {}] },
  fastifyPlugin: SERVICE,
  koaMiddleware: SERVICE,
  createGuard: { names: OPTIONS, good: [admission] },
  nodeGuard: {
    names: 'guard: expected an object with the method admit',
    good: [guard, {}],
  },
  fetchGuard: {
    names: 'guard: expected an object with the method admit',
    good: [guard, () => new Response(), {}],
    wrong: [['handle: expected a function', guard]],
  },
  announcementFields: { names: 'options|frobnicate', accepts: [{}], good: [{}] },
  createOpenApiDocument: {
    names: 'options|frobnicate',
    accepts: [undefined, {}],
    good: [{}],
    wrong: [['publicUrl', { publicUrl: 'shop.example' }]],
  },
  createSqliteOrderStore: { names: 'database' },
  openSqliteDatabase: { names: 'file' },
  openSqliteOrderStore: { names: 'file' },
  createMappedOrderStore: {
    names: 'pool|table',
    good: [pool, orderTable],
    wrong: [
      ['table', pool],
      ['table.columns', pool, { table: 'orders' }],
      ['columns.petID', pool, { ...orderTable, columns: { ...orderTable.columns, petID: 'pet' } }],
      ['statuses.canceled', pool, { ...orderTable, statuses: { canceled: 'canceled' } }],
    ],
  },
  createPostgresOrderStore: { names: 'pool' },
  createRedisLimiter: {
    names: 'options|send|frobnicate',
    good: [{ send: pool.query }],
  },
  createOrderServer: {
    names: OPTIONS,
    good: [{ ...parts, trustProxy: 1 }],
    wrong: [
      ...ADMISSION,
      ['corsOrigins', { ...parts, corsOrigins: 'https://shop.example' }],
      ['corsOrigins(?=: expected origins such as "https://shop.example", or "[*]"$)', { ...parts, corsOrigins: null }],
      ['backends: expected an object with a function for each backend', { ...parts, backends: 7 }],
      ...PATHS,
      ['paths\\["/docs"\\]: this path is one of the server.s own', { ...parts, paths: { '/docs': { perform } } }],
      ['backends.db', { ...parts, backends: { db: 'ok' } }],
    ],
  },
  createManualClock: {
    names: 'startMs',
    accepts: [undefined, 7],
    wrong: [
      ['startMs', 0.5],
      ['startMs', 2 ** 53],
      ['startMs', new Date(0)],
    ],
  },
  createTestService: {
    names: 'options|frobnicate',
    accepts: [undefined, {}],
    good: [{}],
    wrong: [
      ['orders', { orders: {} }],
      ['plan', { plan: 'free' }],
      ['plan.name', { plan: {} }],
      ['clock', { clock: {} }],
      ['clock', { clock: { nowMs: () => 0, utcOffsetMs: () => 0 } }],
      ['store', { store }],
    ],
  },
  orderStoreSuite: { names: 'open' },
  rateLimiterSuite: { names: 'open' },
  serviceAudits: { names: 'url' },
};

/** Exported functions that are not factories, because they create nothing from options. */
const OTHERS = [
  ...['addressKey', 'cancelOutcome', 'createDateClock', 'createSystemClock', 'errorObject', 'parseJson'],
  ...['parseJsonArray', 'parseOrderId', 'parseOrderRecord', 'perDay', 'perMinute', 'principalOf'],
  ...['readBackend', 'serializeOrder', 'serializeRecord', 'shipOutcome'],
];

const { exports }: { exports: Readonly<Record<string, string>> } = createRequire(import.meta.url)(
  'store-orders/package.json',
);
const exported = new Map<string, unknown>();
for (const subpath of Object.keys(exports).filter((path) => !path.endsWith('.json'))) {
  const module: object = await import(subpath.replace('.', 'store-orders'));
  for (const [name, value] of Object.entries(module)) exported.set(name, value);
}

const FIRST = [undefined, null, {}, 7, { frobnicate: 1 }];

for (const [name, { names, accepts = [], good, wrong = [] }] of Object.entries(FACTORIES)) {
  /** Calls the factory with arguments of any type, as JavaScript code can. */
  async function call(args: readonly unknown[]): Promise<unknown> {
    const factory = exported.get(name);
    assert.ok(typeof factory === 'function', name);
    return Reflect.apply(factory, undefined, args);
  }

  test(`the error of ${name} for an invalid argument names the parameter or option`, async () => {
    const refused = FIRST.filter((value) => !accepts.some((accepted) => isDeepStrictEqual(accepted, value)));
    const rows: (readonly [string, ...unknown[]])[] = [...wrong, ...refused.map((value) => [names, value] as const)];
    if (good !== undefined) {
      await call(good);
      const withOption = (option: string) => [...good.slice(0, -1), { ...Object(good.at(-1)), [option]: -0.5 }];
      const { message } = await call(withOption('frobnicate')).then(Object, (error) => error);
      const [, place, options] =
        /^(plan \w+: |table\.|)frobnicate: unknown option; expected one of (.+)$/.exec(message) ?? [];
      assert.ok(options !== undefined, message);
      for (const option of options.split(', ')) rows.push([`(?:plan\\.|${place})?${option}`, ...withOption(option)]);
    }
    for (const [word, ...args] of rows) {
      const expected = { name: /^(?:Type|Range)Error$/, message: new RegExp(`^(?:${word})(?:: |$)`) };
      const message = `expected the error "${word}" of ${name}(${args.map((arg) => inspect(arg)).join(', ')})`;
      await assert.rejects(call(args), expected, message);
    }
  });
}

test('every exported function is in the table of factories or in the list of other functions', () => {
  const functions = [...exported].filter(([, value]) => typeof value === 'function' && !/^class\b/.test(String(value)));
  assert.deepEqual(functions.map(([name]) => name).sort(), [...Object.keys(FACTORIES), ...OTHERS].sort());
});
