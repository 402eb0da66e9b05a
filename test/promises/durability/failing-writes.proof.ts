import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import { type RunningServer, startServer } from '../../program/support/program.js';
import { someOf } from '../../support/rounds.js';
import { temporaryDirectory, temporaryFile } from '../../support/temporary-file.js';
import { createClient, isCancelled } from './support/client.js';
import { reopen, without } from './support/found.js';
import { createOrderFile, type OrderFile } from './support/order-file.js';
import { cannotTrace } from './support/system-calls.js';

const DATABASE = 'store-orders.db';
const CANCELS = 92;

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
   * Runs a server whose system calls on its files fail, kills it, and asserts that all that it has
   * acknowledged is stored. `failing` names the calls in strace's syntax. Returns how many calls
   * failed, whether the server has started, and how many orders are cancelled.
   */
  async function live(t: TestContext, failing: string, { isNew = false } = {}) {
    const cwd = temporaryDirectory();
    const [file, record] = [join(cwd, DATABASE), temporaryFile()];
    if (!isNew) copyFileSync(join(orders.cwd, DATABASE), file);
    const paths = [cwd, file, `${file}-wal`, `${file}-journal`].flatMap((path) => ['-P', path]);
    const under = ['strace', '--daemonize=grandchild', '-f', '--seccomp-bpf', '-o', record, ...paths, '-e', failing];
    const server = await startServer(t, { cwd, under }, '--log', 'events').catch((reason) => {
      assert.match(String(reason), /the server ended with [1-9]/);
      return undefined;
    });
    if (isNew) assert.equal((await server?.get('none'))?.status ?? 401, 401);
    const seen = server === undefined || isNew ? NOTHING : await cancelAll(server);
    await server?.stop('SIGKILL');
    const failed = readFileSync(record, 'latin1').split('(INJECTED)').length - 1;
    assert.ok(failed > 0, failing);
    const { cancelled } = reopen(file);
    assert.deepEqual(without(seen.promised, cancelled), [], failing);
    return { ...seen, failed, served: server !== undefined, cancelled: cancelled.size };
  }

  const NOTHING: Awaited<ReturnType<typeof cancelAll>> = { promised: new Set(), refused: [] };

  /**
   * Cancels the orders, then those again that were refused, and requests the list. Returns the
   * orders with a 204, and those that were refused at first.
   */
  async function cancelAll(server: RunningServer) {
    const clients = Array.from({ length: 4 }, () => createClient(server.url, orders.key.key));
    const promised = new Set<bigint>();

    /** Cancels up to four orders together, each on a connection of its own. */
    async function cancel(group: readonly bigint[]): Promise<void> {
      const answers = await Promise.all(group.map((id, index) => clients[index]?.cancel(id) ?? assert.fail()));
      for (const [index, answer] of answers.entries()) if (isCancelled(answer)) promised.add(group[index] ?? 0n);
    }

    // The failure hits a cancel that is alone in its commit, or one that is not.
    const [alone, together, aloneAgain] = [ids.slice(0, 10), ids.slice(10, 42), ids.slice(42)];
    for (const id of alone) await cancel([id]);
    for (let at = 0; at < together.length; at += 4) await cancel(together.slice(at, at + 4));
    for (const id of aloneAgain) await cancel([id]);
    const refused = without(ids, promised);
    for (const id of refused) await cancel([id]);
    assert.equal((await clients[0]?.list())?.status, 200);
    for (const client of clients) client.close();
    return { promised, refused };
  }

  // strace counts the calls of each thread and of each name separately. All commits are on one
  // thread.
  for (const { title, calls, errors } of [
    { title: 'a write', calls: 'inject=pwrite64,write,ftruncate', errors: ['EIO', 'ENOSPC'] },
    { title: 'an fsync', calls: 'inject=fsync,fdatasync', errors: ['EIO'] },
  ]) {
    const failing = (when: number, more = '') => `${calls}:error=${errors[when % errors.length]}:when=${when}${more}`;

    test(`when ${title} fails, at most one cancel per failed call is refused, and the server keeps working`, async (t) => {
      const total = { servers: 0, served: 0, promised: 0, refused: 0 };
      for (const n of someOf(t, 60)) {
        const { failed, served, promised, refused, cancelled } = await live(t, failing(n));
        assert.ok(refused.length <= failed, failing(n));
        assert.equal(promised.size, served ? CANCELS : 0, failing(n));
        assert.equal(cancelled, promised.size, failing(n));
        assert.notEqual(refused.at(-1), ids.at(-1), failing(n));
        total.servers++;
        total.served += Number(served);
        total.promised += promised.size;
        total.refused += refused.length;
      }
      t.diagnostic(JSON.stringify(total));
      // One server is allowed to end early: if the first system call fails, it may be unable to open
      // the file.
      assert.ok(total.served >= total.servers - 1);
    });

    test(`when ${title} and all later ones fail, every cancel from then on is refused`, async (t) => {
      for (const n of [2, 5, 9, 20]) {
        const { failed, served, promised, refused, cancelled } = await live(t, failing(n, '+'));
        assert.ok(failed > 1 && served && refused.length > 0, failing(n));
        assert.deepEqual(refused, ids.slice(-refused.length), failing(n));
        assert.equal(promised.size, CANCELS - refused.length, failing(n));
        // A refused cancel may still be in the file, if its fsync failed and nothing overwrote its
        // data.
        assert.ok(cancelled <= promised.size + 1, failing(n));
      }
    });

    test(`when ${title} fails while the file is created, the file can still be opened afterwards`, async (t) => {
      for (const n of someOf(t, 8)) await live(t, failing(n), { isNew: true });
    });
  }
});
