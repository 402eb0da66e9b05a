import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { ListedOrders } from 'store-orders';
import { createFairTurns } from '../../../dist/http/list/fair-turns.js';
import { createNewestList } from '../../../dist/orders/newest-list.js';
import { createAsker } from '../../http/list/support/asker.js';
import { textOf } from '../../orders/support/store-suite.js';
import { play, type Scheduler } from './support/play.js';

const TENANTS = [1, 2, 3, 4, 5, 6];
const tenant = fc.constantFrom(...TENANTS);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ act: fc.constant('ask'), tenant }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('change'), tenant }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constantFrom('fail', 'hang up'), tenant }) },
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

/** Creates a service over a store that answers, and is read, when the scheduler says so. */
function createShopOfTenants(s: Scheduler, list: List, isBounded: boolean) {
  const requester = new AsyncLocalStorage<{ readonly tenant: number; readonly number: number }>();
  /** The tenants of the requests for which the store was asked, by the number of the request. */
  const made = new Map<number, number>();
  const revisions = new Map(TENANTS.map((tenant) => [tenant, 0]));
  const revisionOf = (tenant: number) => revisions.get(tenant) ?? 0;
  const hungUp = new Set<number>();
  let failures = 0;
  let failing = 0;
  let readings = 0;
  let pending = 0;
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
    if (isBounded) checkTurns([...made.values()]);
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
    pending++;
    const { status, text } = await requester.run({ tenant, number }, () => ask(`${tenant}`, () => hungUp.has(number)));
    pending--;
    if (status === 408) return assert.ok(hungUp.has(number));
    if (status === 503) return assert.ok(failures > 0);
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
      else
        request(tenant).catch((error) => {
          failed = error;
        });
    },
    pending() {
      if (failed !== undefined) throw failed;
      return pending;
    },
  };
}

function checkTurns(tenants: readonly number[]): void {
  assert.equal(new Set(tenants).size, tenants.length, 'one long array at a time for each key');
  assert.ok(tenants.length <= 4, 'few long arrays at a time');
}

suite('in any order of requests, changes, answers, readings, failures and clients that hang up', () => {
  for (const [kind, list] of Object.entries(LISTS)) {
    test(`nobody gets the list of another tenant, or one that is older than the request, and each request is answered (${kind})`, () =>
      play(step, (s) => createShopOfTenants(s, list, kind.endsWith('without a version'))));
  }
});

test('in any order of turns, each key has one, few keys have one, keys take turns, and each request ends', () =>
  play(
    fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      act: fc.constantFrom('work', 'work', 'slow', 'hang up'),
    }),
    (s) => {
      const turns = createFairTurns(2);
      const working = new Set<string>();
      const slow = new Set<string>();
      const hungUp = new Set<number>();
      let requests = 0;
      let pending = 0;
      let failed: unknown;

      async function request(key: string, isSlow: boolean): Promise<void> {
        const number = ++requests;
        pending++;
        const result = await turns.run(
          key,
          () => hungUp.has(number),
          async ({ yieldPlace }) => {
            assert.ok(!working.has(key), 'one turn for each key');
            working.add(key);
            assert.ok(working.size - slow.size <= 2, 'two places');
            await s.schedule(Promise.resolve(), `work ${key}`);
            if (isSlow) {
              slow.add(key);
              yieldPlace();
              await s.schedule(Promise.resolve(), `slow ${key}`);
              slow.delete(key);
            }
            working.delete(key);
            return key;
          },
        );
        pending--;
        assert.ok(result === key || hungUp.has(number));
      }

      return {
        act({ key, act }) {
          if (act === 'hang up') hungUp.add(requests);
          else
            request(key, act === 'slow').catch((error) => {
              failed = error;
            });
        },
        pending() {
          if (failed !== undefined) throw failed;
          return pending;
        },
      };
    },
  ));

test('in any order of changes, checks and failures, a list shows each own change before it, and each other change a tenth of a second before it', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const acts = fc.record({
    act: fc.constantFrom('ask', 'ask', 'ask', 'own change', 'other change', 'fail', 'pass'),
    ms: fc.constantFrom(30, 100),
  });
  await play(acts, (s) => {
    let revision = 1;
    let failing = 0;
    let failures = 0;
    let pending = 0;
    let failed: unknown;
    /** The revision that each later list shows at least, from which time on. */
    let own = 1;
    const others: { readonly revision: number; readonly ms: number }[] = [];
    const { list, noteChange } = createNewestList({
      async readRevision() {
        const read = revision;
        await s.schedule(Promise.resolve(), 'revision');
        if (failing > 0) {
          failing--;
          failures++;
          throw new Error('the database is away');
        }
        return read;
      },
      async *readPages() {
        yield `${revision}`;
      },
    });

    async function ask(): Promise<void> {
      const least = Math.max(own, ...others.filter(({ ms }) => ms <= nowMs - 100).map(({ revision }) => revision));
      pending++;
      try {
        const pages = await list();
        const version = Number(String(pages.version).split(' ')[1]);
        assert.ok(version >= least, `version ${version} shows less than ${least}`);
        assert.ok(JSON.parse(await textOf(pages))[0] >= version, 'the pages are older than their version');
      } catch (error) {
        assert.ok(failures > 0 && /away/.test(String(error)), error instanceof Error ? error : String(error));
      }
      pending--;
    }

    return {
      act({ act, ms }) {
        if (act === 'pass') nowMs += ms;
        else if (act === 'fail') failing++;
        else if (act === 'ask')
          ask().catch((error) => {
            failed = error;
          });
        else {
          revision++;
          if (act === 'own change') {
            own = revision;
            noteChange();
          } else others.push({ revision, ms: nowMs });
        }
      },
      pending() {
        if (failed !== undefined) throw failed;
        return pending;
      },
    };
  });
});
