import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import { type RunningServer, startServer } from '../server/support/program.js';
import { someOf } from '../support/rounds.js';
import { temporaryDirectory, temporaryFile } from '../support/temporary-file.js';
import { createClient } from './support/client.js';
import { reopen } from './support/found.js';
import { createOrderFile, type OrderFile } from './support/order-file.js';
import { cannotTrace } from './support/system-calls.js';

const DATABASE = 'store-orders.db';
const CANCELS = 92;
/** These cancels are sent four at a time and the others one by one, so that the failure hits both kinds. */
const TOGETHER = { from: 10, to: 42 };

/** What a server did while system calls failed. */
interface Life {
  /** How many calls failed. */
  readonly failed: number;
  /** Whether the server has started. */
  readonly served: boolean;
  /** Whether each cancel was carried out. If not, it got 503. */
  readonly outcomes: readonly boolean[];
  /** Whether the refused cancels were carried out when they were sent again. */
  readonly again: readonly boolean[];
  /** The number of orders that are cancelled although every request to cancel them got 503. */
  readonly unpromised: number;
}

describe('a server whose system calls fail', { skip: cannotTrace() }, () => {
  let orders: OrderFile;
  let ids: readonly bigint[];

  before(async () => {
    orders = await createOrderFile(temporaryDirectory(), 2_000);
    // The ids are spread, so that a commit writes many pages.
    const all = orders.next(2_000);
    ids = Array.from({ length: CANCELS }, (_, index) => all[(index * 1_237) % all.length] ?? 0n);
  });

  /**
   * Runs a server whose system calls on its files fail, kills it, and compares its replies with what
   * is stored afterwards. `failing` names the calls in strace's syntax.
   */
  async function live(t: TestContext, failing: string, { isNew = false } = {}): Promise<Life> {
    const cwd = temporaryFile();
    const [file, record] = [join(cwd, DATABASE), `${cwd}.strace`];
    mkdirSync(cwd);
    if (!isNew) copyFileSync(join(orders.cwd, DATABASE), file);
    const paths = [cwd, file, `${file}-wal`, `${file}-journal`].flatMap((path) => ['-P', path]);
    const under = ['strace', '--daemonize=grandchild', '-f', '--seccomp-bpf', '-o', record, ...paths, '-e', failing];
    const server = await startServer(t, { cwd, under }, '--log', 'events').catch((reason) => {
      assert.match(String(reason), /the server ended with [1-9]/);
      return undefined;
    });
    const { promised, ...seen } = server === undefined || isNew ? NOTHING : await cancelAll(server);
    if (isNew) assert.equal((await server?.get('none'))?.status ?? 401, 401);
    await server?.stop('SIGKILL');
    const failed = readFileSync(record, 'latin1').split('(INJECTED)').length - 1;
    const { cancelled } = reopen(file);
    const lost = promised.filter((id) => !cancelled.has(id));
    assert.deepEqual(lost, [], failing);
    assert.ok(failed > 0, failing);
    return { failed, served: server !== undefined, ...seen, unpromised: cancelled.size - promised.length };
  }

  const NOTHING = { promised: [], outcomes: [], again: [] };

  /** Cancels the orders, then those again that were refused, and requests the list. */
  async function cancelAll(server: RunningServer) {
    const clients = Array.from({ length: 4 }, () => createClient(server.url, orders.key.key));
    async function cancel(id: bigint, client = clients[0]): Promise<boolean> {
      assert.ok(client);
      const { status, headers, body } = await client.cancel(id);
      if (status === 204) return true;
      assert.deepEqual([status, JSON.parse(body).code, headers['retry-after']], [503, 'service_unavailable', '1']);
      return false;
    }
    const outcomes: boolean[] = [];
    while (outcomes.length < CANCELS) {
      const at = outcomes.length;
      const group = ids.slice(at, at + (at >= TOGETHER.from && at < TOGETHER.to ? clients.length : 1));
      outcomes.push(...(await Promise.all(group.map((id, index) => cancel(id, clients[index])))));
    }
    const refused = ids.filter((_, index) => outcomes[index] === false);
    const again: boolean[] = [];
    for (const id of refused) again.push(await cancel(id));
    assert.equal((await clients[0]?.list())?.status, 200);
    for (const client of clients) client.close();
    const promised = [...ids.filter((_, at) => outcomes[at]), ...refused.filter((_, at) => again[at])];
    return { promised, outcomes, again };
  }

  // strace counts the calls of each thread and of each name separately. All commits are on one
  // thread.
  for (const { title, calls, errors } of [
    { title: 'a write', calls: 'inject=pwrite64,write,ftruncate', errors: ['EIO', 'ENOSPC'] },
    { title: 'an fsync', calls: 'inject=fsync,fdatasync', errors: ['EIO'] },
  ]) {
    const failing = (when: number, more = '') => `${calls}:error=${errors[when % errors.length]}:when=${when}${more}`;

    test(`when ${title} fails, at most one cancel per failed call is refused, and the server keeps working`, async (t) => {
      const total = { servers: 0, served: 0, cancelled: 0, refused: 0 };
      for (const n of someOf(t, 60)) {
        const { failed, served, outcomes, again, unpromised } = await live(t, failing(n));
        const refused = outcomes.filter((done) => !done).length;
        assert.ok(refused <= failed && !again.includes(false), failing(n));
        assert.equal(unpromised, 0, failing(n));
        if (served) assert.equal(outcomes.at(-1), true, failing(n));
        total.servers++;
        total.served += Number(served);
        total.cancelled += outcomes.length;
        total.refused += refused;
      }
      t.diagnostic(JSON.stringify(total));
      // One server is allowed to end early: if the first system call fails, it may be unable to open
      // the file.
      assert.ok(total.served >= total.servers - 1);
    });

    test(`when ${title} and all later ones fail, every cancel from then on is refused`, async (t) => {
      for (const n of [2, 5, 9, 20]) {
        const { failed, served, outcomes, again, unpromised } = await live(t, failing(n, '+'));
        assert.ok(failed > 1 && served, failing(n));
        const firstRefused = outcomes.indexOf(false);
        assert.ok(firstRefused >= 0 && !outcomes.slice(firstRefused).includes(true), failing(n));
        assert.ok(!again.includes(true), failing(n));
        // A refused cancel may still be in the file, if its fsync failed and nothing overwrote its
        // data.
        assert.ok(unpromised <= 1, failing(n));
      }
    });

    test(`when ${title} fails while the file is created, the file can still be opened afterwards`, async (t) => {
      for (const n of someOf(t, 8)) await live(t, failing(n), { isNew: true });
    });
  }
});
