import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { after, mock, suite, test } from 'node:test';
import fc from 'fast-check';
import type { ListedOrders } from 'store-orders';
import { createAsker } from '../../http/list/support/asker.js';
import { play, type Scheduler } from './support/play.js';

const TENANTS = [1, 2, 3, 4, 5, 6];
const tenant = fc.constantFrom(...TENANTS);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ act: fc.constant('ask'), tenant }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('change'), tenant }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constantFrom('fail', 'hang up', 'hang'), tenant }) },
);

/**
 * What a store lists for a tenant in one revision. `read` is called when pages are read, and `end`
 * when the last order of an array is serialised.
 */
type List = (tenant: number, revision: number, read: () => Promise<() => void>, end: () => void) => ListedOrders;

const idOf = (tenant: number, revision: number) => tenant * 1_000 + revision;

const LISTS: Readonly<Record<string, List>> = {
  'pages with a version': (tenant, revision, read) => ({
    version: `${tenant} ${revision}`,
    async *[Symbol.asyncIterator]() {
      const end = await read();
      yield `{"id":${idOf(tenant, revision)}}`;
      end();
    },
  }),
  'long arrays with a version': (tenant, revision, _read, end) =>
    Object.assign(arrayOf(tenant, revision, end), { version: `${tenant} ${revision}` }),
  'long arrays without a version': (tenant, revision, _read, end) => arrayOf(tenant, revision, end),
};

const MANY = Array.from({ length: 512 }, (_, index) => ({ id: 1_000_000n + BigInt(index) }));

function arrayOf(tenant: number, revision: number, end: () => void) {
  const last = {
    id: 2_000_000n,
    get quantity() {
      end();
      return 1;
    },
  };
  return [{ id: BigInt(idOf(tenant, revision)) }, ...MANY, last];
}

const requester = new AsyncLocalStorage<{ readonly tenant: number; readonly number: number }>();

/** Creates a service over a store that answers, and is read, when the scheduler says so. */
function createShopOfTenants(s: Scheduler, list: List, isBounded: boolean) {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  /** The tenants of the requests for which the store was asked, by the number of the request. */
  const made = new Map<number, number>();
  const revisions = new Map(TENANTS.map((tenant) => [tenant, 0]));
  const revisionOf = (tenant: number) => revisions.get(tenant) ?? 0;
  const hungUp = new Set<number>();
  /** The tenants of whom the store never lists the orders again. */
  const hanging = new Set<number>();
  let failures = 0;
  let failing = 0;
  let readings = 0;
  /** The tenants of the requests that wait, by the number of the request. */
  const pending = new Map<number, number>();
  let requests = 0;

  async function read() {
    readings++;
    assert.equal(readings, 1, 'one version is read at a time');
    try {
      await s.schedule(Promise.resolve(), 'read');
      failIfTold();
    } catch (error) {
      readings--;
      throw error;
    }
    return () => readings--;
  }

  function failIfTold(): void {
    if (failing === 0) return;
    failing--;
    failures++;
    throw new Error('the store is away');
  }

  const ask = createAsker(async () => {
    const { tenant, number } = requester.getStore() ?? assert.fail('the store is asked in no context');
    made.set(number, tenant);
    if (isBounded) checkTurns([...made.values()], hanging);
    if (hanging.has(tenant)) await new Promise(() => {});
    // The store reads at once, and its answer takes time.
    const listed = list(tenant, revisionOf(tenant), read, () => made.delete(number));
    await s.schedule(Promise.resolve(), `list ${tenant}`);
    if (failing > 0) made.delete(number);
    failIfTold();
    return listed;
  });

  async function request(tenant: number): Promise<void> {
    const number = ++requests;
    const newest = revisionOf(tenant);
    pending.set(number, tenant);
    const { status, text } = await requester.run({ tenant, number }, () => ask(`${tenant}`, () => hungUp.has(number)));
    pending.delete(number);
    if (status === 408) return assert.ok(hungUp.has(number));
    if (status === 503) return assert.ok(failures > 0 || hanging.has(tenant), 'a store that works fails');
    const id = Number(/\d+/.exec(text)?.[0]);
    assert.equal(Math.floor(id / 1_000), tenant, 'the list of another tenant');
    assert.ok(id >= idOf(tenant, newest), 'the list is older than the request');
  }

  let failed: unknown;
  return {
    act({ act, tenant }: { readonly act: string; readonly tenant: number }) {
      if (failed !== undefined) throw failed;
      if (act === 'change') revisions.set(tenant, revisionOf(tenant) + 1);
      else if (act === 'fail') failing++;
      else if (act === 'hang up') hungUp.add(requests);
      else if (act === 'hang') hanging.add(tenant);
      else
        request(tenant).catch((error) => {
          failed = error;
        });
    },
    pending() {
      if (failed !== undefined) throw failed;
      // Between two slices of an array, no answer is due either. So no more time passes than a hanging list needs.
      if (s.count() === 0) mock.timers.tick(50);
      return [...pending.values()].filter((tenant) => !hanging.has(tenant)).length;
    },
  };
}

function checkTurns(tenants: readonly number[], hanging: ReadonlySet<number>): void {
  assert.equal(new Set(tenants).size, tenants.length, 'one long array at a time for each key');
  const others = tenants.filter((tenant) => !hanging.has(tenant));
  assert.ok(others.length <= 4, 'few long arrays at a time');
}

suite('in any order of requests, changes, answers, readings, failures, tenants whose lists never come and clients that hang up', () => {
  after(() => {
    mock.timers.reset();
    requester.disable();
  });

  for (const [kind, list] of Object.entries(LISTS)) {
    test(`nobody gets the list of another tenant, or one that is older than the request, and each request is answered (${kind})`, () =>
      play(step, (s) => createShopOfTenants(s, list, kind.endsWith('without a version'))));
  }
});
