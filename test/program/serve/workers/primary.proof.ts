import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Client, mayFail } from '../../../promises/durability/support/client.js';
import { listenOnFreePort } from '../../../support/listen.js';
import { temporaryDirectory } from '../../../support/temporary-file.js';
import { until } from '../../../support/until.js';
import { programIn } from '../../support/program.js';
import { spawnProgram } from '../../support/run.js';
import { CLIENTS, engine, env, skip, startWorkers, WORKERS, workersOf } from './support/workers.js';

const NO_ORDER = 0n;

/** A process that has ended stays in the process table until its parent reads its exit status. */
function isAlive(pid: number): boolean {
  try {
    return !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

describe('workers', { skip }, () => {
  test('workers on the same port together admit exactly the quota of a key; log lines contain the number of the worker', async (t) => {
    const { server, connect } = await startWorkers(t);
    const [{ time, ...listening } = {}] = server.log();
    const db = `postgres://${encodeURIComponent(engine?.connection.host ?? '')}:5432/postgres`;
    const { url } = server;
    const docs = `${new URL('/docs', url)}`;
    const redis = env.REDIS_URL;
    assert.deepEqual(listening, { level: 'info', event: 'listening', url, docs, db, redis, workers: WORKERS });
    assert.equal(server.stderr(), `${db} has no API keys. Create one: store-orders keys create --plan free\n`);
    const clients = await connect(CLIENTS, 300);
    const statuses: number[] = [];
    const work = async (client: Client) => {
      for (let n = 0; n < 25; n++) statuses.push((await client.cancel(NO_ORDER)).status);
    };
    await Promise.all(clients.map(work));
    assert.deepEqual(server.events(), ['listening'], 'Redis never failed');
    assert.equal(statuses.filter((status) => status === 404).length, 300);
    assert.equal(statuses.filter((status) => status === 429).length, 100);
    const workers = server.log().map(({ worker }) => worker);
    for (const number of [1, 2]) assert.ok(workers.includes(number), `worker ${number} served no request`);
    assert.equal(await server.stop('SIGTERM'), 0);
    assert.deepEqual(server.events(), ['listening', 'stopping', 'stopped']);
  });

  test('workers under load lose no request at SIGTERM, even if every process gets the signal', async (t) => {
    for (const toAll of [false, true]) {
      const { server, connect } = await startWorkers(t, '--log', 'events');
      const lost: string[] = [];
      let answered = 0;
      let isTold = false;
      const work = async (client: Client, index: number) => {
        for (;;) {
          try {
            const { status } = await (index % 4 === 0 ? client.list() : client.cancel(NO_ORDER));
            assert.ok(status < 500, `responded with ${status}`);
            answered++;
          } catch (error) {
            if (!isTold || !mayFail(error, client)) lost.push(String(error));
            return;
          }
          await sleep(index % 2 === 0 ? 0 : 5);
        }
      };
      const clients = await connect();
      await Promise.all(clients.map((client) => client.cancel(NO_ORDER)));
      const working = clients.map(work);
      await until(() => answered > CLIENTS);
      isTold = true;
      if (toAll) for (const pid of workersOf(server)) process.kill(pid, 'SIGTERM');
      assert.equal(await server.stop('SIGTERM'), 0);
      await Promise.all(working);
      assert.deepEqual(lost, []);
    }
  });

  test('a killed worker is replaced while the others keep serving; if the replacement cannot start, there is one each second', async (t) => {
    const { server, connect } = await startWorkers(t, '--log', 'events');
    const [client] = await connect(1);
    const kill = () => process.kill(workersOf(server)[0] ?? 0, 'SIGKILL');
    const times = (event: string) => server.log().flatMap((line) => (line['event'] === event ? [line['time']] : []));
    kill();
    await until(() => times('worker ended').length === 1);
    assert.equal((await client?.cancel(NO_ORDER))?.status, 404);
    await until(() => times('worker replaced').length === 1);
    await engine?.crash();
    kill();
    await until(() => times('worker cannot start').length >= 3);
    await engine?.start();
    await until(() => times('worker replaced').length === 2);
    assert.equal(await server.stop('SIGINT'), 0);
    const [killed, third] = [times('worker ended')[1], times('worker cannot start')[2]];
    assert.ok(Date.parse(String(third)) - Date.parse(String(killed)) > 1_900, 'the third starts two seconds later');
    const lines = server.log().map((line) => `${line['event']} ${line['worker']} ${line['signal'] ?? line['code']}`);
    const expected = ['worker ended 1 SIGKILL', 'worker replaced 1 undefined', 'worker ended 2 SIGKILL'];
    assert.deepEqual(lines.slice(1, 6), [...expected, 'worker cannot start 2 undefined', 'worker ended 2 1']);
    assert.match(String(server.log()[4]?.['error']), /^cannot open the database postgres:/);
    assert.deepEqual(server.events().slice(-3), ['worker replaced', 'stopping', 'stopped']);
  });

  test('a worker that does not stop within 9 s is killed, and the program exits with 1', async (t) => {
    const { server } = await startWorkers(t);
    process.kill(workersOf(server)[1] ?? 0, 'SIGSTOP');
    const startMs = performance.now();
    assert.equal(await server.stop('SIGTERM'), 1);
    const seconds = (performance.now() - startMs) / 1_000;
    assert.ok(seconds >= 9, `${seconds} s`);
    const lines = server.log().map(({ event, worker, signal }) => `${event} ${worker} ${signal}`);
    assert.deepEqual(lines.slice(1, 3), ['stopping undefined SIGTERM', 'worker ended 2 SIGKILL']);
    assert.equal(server.stderr(), 'store-orders: a worker did not stop cleanly; the log names it\n');
  });

  test('if the primary process is killed, the workers serve the requests in flight, and then exit', async (t) => {
    const { server, connect } = await startWorkers(t);
    const workers = workersOf(server);
    const { answer, release } = await cancelLockedOrder(t, connect);
    assert.equal(await server.stop('SIGKILL'), 'SIGKILL');
    await until(() => workers.filter(isAlive).length === 1);
    await release();
    assert.equal((await answer)?.status, 204);
    await until(() => !workers.some(isAlive));
  });

  test('the primary process and its workers exit immediately at a second signal', async (t) => {
    const { server, connect } = await startWorkers(t);
    const workers = workersOf(server);
    const { answer, release } = await cancelLockedOrder(t, connect);
    const broken = assert.rejects(async () => answer);
    const exit = server.stop('SIGTERM');
    await until(() => server.events().includes('stopping'));
    await sleep(200);
    assert.equal(server.child.exitCode, null);
    server.child.kill('SIGTERM');
    assert.equal(await exit, 'SIGTERM');
    await until(() => !workers.some(isAlive));
    await broken;
    await release();
  });

  test('workers share a unix socket, even if a killed primary has left it behind', async (t) => {
    const port = ['--port', join(temporaryDirectory(), 'shop.sock')];
    const { server: killed } = await startWorkers(t, ...port);
    const workers = workersOf(killed);
    await killed.stop('SIGKILL');
    await until(() => !workers.some(isAlive));
    const { server } = await startWorkers(t, ...port);
    assert.equal(await programIn().output(['healthcheck', ...port]), 'ok\n');
    assert.equal(await server.stop('SIGTERM'), 0);
  });

  test('if workers cannot start, the program prints the reason once, and exits with 1', async (t) => {
    const { cwd, failure } = programIn({ env });
    const child = spawnProgram(['serve', '--workers', '2', '--port', '0'], { cwd, env });
    const [closed, stderr] = [once(child, 'close'), child.stderr && text(child.stderr)];
    await until(() => workersOf({ child }).length > 0);
    process.kill(workersOf({ child })[0] ?? 0, 'SIGKILL');
    assert.equal(await stderr, 'store-orders: worker 1 ended before it was ready: SIGKILL\n');
    assert.deepEqual(await closed, [1, null]);
    const other = createServer();
    t.after(() => other.close());
    const port = await listenOnFreePort(other);
    assert.equal(
      await failure(`serve --workers 3 --port ${port}`),
      `port ${port} on 127.0.0.1 is in use; choose another with --port`,
    );
  });
});

/** Locks the row of an order and cancels the order. Returns when the cancel waits for the lock. */
async function cancelLockedOrder(t: TestContext, connect: (count: number) => Promise<readonly Client[]>) {
  const holder = new pg.Client({ connectionString: engine?.url });
  t.after(() => holder.end());
  await holder.connect();
  await holder.query(
    "INSERT INTO store_orders (id, status) VALUES (1, 'pending') ON CONFLICT (id) DO UPDATE SET status = 'pending'",
  );
  await holder.query('BEGIN');
  await holder.query('SELECT FROM store_orders WHERE id = 1 FOR UPDATE');
  const [client] = await connect(1);
  const answer = client?.cancel(1n);
  // A cancel is sent again and again while the row is locked, so it is in flight all the time.
  await until(async () => {
    await holder.query('SELECT pg_stat_clear_snapshot()');
    const cancel = "SELECT FROM pg_stat_activity WHERE application_name = 'store-orders' AND query ~ 'SKIP LOCKED'";
    return (await holder.query(cancel)).rows.length > 0;
  });
  return { answer, release: () => holder.query('COMMIT') };
}
