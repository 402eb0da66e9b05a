import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { type Client, isCancelled } from '../../promises/durability/support/client.js';
import { serving } from '../../promises/durability/support/serving.js';
import { cannotTrace } from '../../promises/durability/support/system-calls.js';
import { slowest } from '../../support/figures.js';
import { MIB, mebibytes } from '../../support/memory.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { failingProgram, issueKey, programIn } from '../support/program.js';
import { type RunOptions, spawnProgram } from '../support/run.js';

const MANY = 1_000_000;
const SOME = 50_000;
const FEW = 500;
/** Longer than a thread without a sign of life may take, and shorter than a write waits for the lock. */
const SLOW_FSYNC_US = 3_500_000;
/** How long a write of a server waits for the lock. */
const LOCK_DEADLINE_MS = 5_000;
/**
 * The most memory that a large import may need in addition to what an import of one order needs. It
 * was 52 to 69 MiB when measured on Node.js 20, 22, 24 and 26.
 */
const BEYOND_BASE = 96 * MIB;
/** Only the process itself can look at its memory last. */
const REPORT = `process.on('exit', () => {
  const fs = process.getBuiltinModule('fs');
  if (fs.existsSync('/proc/self/status')) fs.writeSync(2, fs.readFileSync('/proc/self/status'));
})`;
/** With the default size of the young generation of Node.js 24, the imports needed up to 171 MiB. */
const NODE_OPTIONS = `--max-semi-space-size=2 --import=data:text/javascript,${encodeURIComponent(REPORT)}`;
const KILLED_AFTER_MS = [0, 300, 1_500];
const FIRST = 10;

/** Yields lines of orders as an export writes them, but not in ascending order of ids. */
function* lines(count: number): Generator<string> {
  for (let i = 0; i < count; i++) {
    const id = FIRST + ((i * 7_919) % count);
    yield `{"id":${id},"petId":${i % 97},"quantity":${i % 30},"shipDate":"2026-07-16T00:00:00Z","complete":true,"status":"shipped"}\n`;
  }
}

/** Tests imports into a new database. `prepare` returns the variables that choose its engine. */
function proveImports(prepare: () => Promise<Readonly<Record<string, string>>>): void {
  /** Creates a directory and a database with two orders. */
  async function withTwo() {
    const env = await prepare();
    const program = programIn({ env });
    await program.output('orders import -', '{"id":1}\n{"id":2}');
    return {
      ...program,
      options: { cwd: program.cwd, env },
      stored: async () => (await program.output('orders export')).split('\n').length - 1,
    };
  }

  test('a million orders are imported in bounded memory', async (t) => {
    const { options, output } = await withTwo();
    await pipeline(lines(MANY), createWriteStream(join(options.cwd, 'many.ndjson')));
    const base = await peakOf(['--replace', '-'], options);
    const peak = await peakOf(['many.ndjson'], options);
    t.diagnostic(`memory: base ${mebibytes(base)}, beyond ${mebibytes(peak - base)}`);
    await output(`orders show ${FIRST + MANY - 1}`);
    assert.ok(peak - base <= BEYOND_BASE, `${peak - base} bytes more than an import of one order`);
  });

  test('an import that is killed has stored either all of its orders or none', async (t) => {
    const { options, stored } = await withTwo();
    for (const isWhole of [false, true]) {
      for (const ms of KILLED_AFTER_MS) {
        const child = spawnProgram(['orders', 'import', '--replace', '-'], options);
        child.stdin?.on('error', () => {});
        child.stdin?.write([...lines(SOME)].join(''));
        if (isWhole) child.stdin?.end();
        await sleep(300 + ms);
        const exited = child.exitCode === null && once(child, 'exit');
        child.kill('SIGKILL');
        await exited;
        const count = await stored();
        t.diagnostic(`${isWhole ? 'the whole' : 'a part'}, after ${300 + ms} ms: ${count} orders`);
        assert.ok(count === 2 || (isWhole && count === SOME + 2), `${count} orders`);
      }
    }
  });

  test('an import that Ctrl-C ends prints that nothing was imported, exits with 130 and stores nothing', async () => {
    const { options, stored } = await withTwo();
    const child = spawnProgram(['orders', 'import', '-'], options);
    let printed = '';
    child.stderr?.on('data', (chunk) => (printed += chunk));
    // Most of these lines can be written only once the program reads them.
    await new Promise((resolve) => child.stdin?.write([...lines(SOME)].join(''), resolve));
    child.kill('SIGINT');
    const [code] = await once(child, 'exit');
    assert.deepEqual([code, printed], [130, 'store-orders: stdin: interrupted; nothing was imported\n']);
    assert.equal(await stored(), 2);
  });

  test('Ctrl-C ends an import that waits for bytes from a named pipe, also as process 1 of a container', {
    skip: process.getuid?.() !== 0 && 'needs root, to start process 1 of a namespace',
  }, async () => {
    const { options, stored } = await withTwo();
    const pipe = join(options.cwd, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const under = ['unshare', '--pid', '--fork', '--kill-child'];
    const child = spawnProgram(['orders', 'import', pipe], { ...options, under });
    let printed = '';
    child.stderr?.on('data', (chunk) => (printed += chunk));
    const exited = once(child, 'exit');
    // It opens only once the program reads it, and stays open.
    const writer = await open(pipe, 'w');
    const pid = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'latin1').trim();
    process.kill(Number(pid), 'SIGINT');
    const [code] = await exited;
    await writer.close();
    assert.deepEqual([code, printed], [130, `store-orders: ${pipe}: interrupted; nothing was imported\n`]);
    assert.equal(await stored(), 2);
  });

  test('an import in progress does not delay cancels', async () => {
    const { options, output, stored } = await withTwo();
    const child = spawnProgram(['orders', 'import', '-'], options);
    const text = [...lines(SOME)].join('');
    child.stdin?.write(text.slice(0, text.length / 2));
    for (const id of ['1', '2']) {
      await output(`orders cancel ${id}`);
      assert.equal(await stored(), 2);
    }
    child.stdin?.end(text.slice(text.length / 2));
    await once(child, 'exit');
    assert.equal(await stored(), SOME + 2);
  });
}

/**
 * Cancels an order, and returns how long that took. An import can hold the lock for longer than a
 * cancel waits, if the machine is busy. Only then is the cancel sent again.
 */
async function cancelLate(client: Client, id = 0n): Promise<number> {
  const answer = await client.cancel(id);
  if (isCancelled(answer)) return answer.tookMs;
  assert.ok(answer.tookMs >= LOCK_DEADLINE_MS, `503 after ${answer.tookMs} ms`);
  return answer.tookMs + (await cancelLate(client, id));
}

/** Imports one order, or the file named by `args`, and returns the peak memory in bytes. */
async function peakOf(args: readonly string[], options: RunOptions): Promise<number> {
  const env = { ...options.env, NODE_OPTIONS };
  const child = spawnProgram(['orders', 'import', ...args], { ...options, env });
  child.stdin?.end('{"id":1}');
  const [printed, [code]] = await Promise.all([child.stderr && text(child.stderr), once(child, 'exit')]);
  assert.equal(code, 0);
  const peaks = [...`${printed}`.matchAll(/VmHWM:\s+(\d+)/g)].map(([, kibibytes]) => Number(kibibytes) * 1024);
  return Math.max(0, ...peaks);
}

describe('imports into SQLite', () => {
  proveImports(async () => ({}));

  test('until an import is complete, its orders are kept in a file next to the database, not in /tmp', {
    skip: !existsSync('/proc/self/fd'),
  }, async (t) => {
    const cwd = temporaryDirectory();
    const child = spawnProgram(['orders', 'import', '-'], { cwd });
    t.after(() => child.kill());
    child.stdin?.write([...lines(SOME)].join(''));
    const directory = `/proc/${child.pid}/fd`;
    await until(() => {
      try {
        // Linux shows an open file without a name as deleted.
        const files = readdirSync(directory).map((descriptor) => readlinkSync(join(directory, descriptor)));
        return files.some((file) => file.startsWith(cwd) && file.endsWith('(deleted)'));
      } catch {
        return false; // A file was closed in the meantime.
      }
    });
    child.stdin?.end();
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });

  test('while an import holds the lock, the cancels of a server wait for it, and a key can be revoked', {
    skip: cannotTrace(),
  }, async (t) => {
    const { server, client, orders } = await serving(t, 5_000);
    const { cwd } = server;
    const { id } = await issueKey(cwd, 'free');
    const slow = ['-e', 'trace=fsync,fdatasync', '-e', `inject=fsync,fdatasync:delay_enter=${SLOW_FSYNC_US}`];
    const log = join(cwd, 'store-orders.db-wal');
    const under = ['strace', '-f', '--seccomp-bpf', '-o', '/dev/null', '-P', log, ...slow];
    const imported = programIn({ cwd, under }).output('orders import --replace -', [...lines(FEW)].join(''));
    const revoked = programIn({ cwd }).output(`keys revoke ${id}`);
    let isOver = false;
    const over = Promise.all([imported, revoked]).finally(() => {
      isOver = true;
    });
    const waitsMs: number[] = [];
    while (!isOver) waitsMs.push(await cancelLate(client, orders.next(1)[0]));
    await over;
    t.diagnostic(`${waitsMs.length} cancels beside the import`);
    assert.ok(slowest(waitsMs) >= SLOW_FSYNC_US / 1_000 - 500);
  });

  test('while a server cancels, a million orders are imported, and each cancel is carried out', async (t) => {
    const { server, client, orders } = await serving(t, SOME);
    const { cwd } = server;
    await pipeline(lines(MANY), createWriteStream(join(cwd, 'many.ndjson')));
    let isOver = false;
    const imported = programIn({ cwd })
      .output('orders import many.ndjson')
      .finally(() => {
        isOver = true;
      });
    const waitsMs: number[] = [];
    while (!isOver) {
      waitsMs.push(await cancelLate(client, orders.next(1)[0]));
      await sleep(10);
    }
    await imported;
    client.close();
    t.diagnostic(`${waitsMs.length} cancels beside the import; the longest took ${Math.round(slowest(waitsMs))} ms`);
    assert.ok(waitsMs.length > 0);
  });

  test('if the last fsync fails, the import reports that its outcome is unknown', { skip: cannotTrace() }, async () => {
    const { cwd, output } = programIn();
    await output('orders import -', '{"id":1}');
    const { failure } = failingProgram(cwd, 'fsync,fdatasync', 'EIO', join(cwd, 'store-orders.db-wal'));
    assert.match(
      await failure('orders import -', '{"id":2}'),
      /^it is unknown whether the orders were imported: cannot write store-orders\.db: the disk failed .+; run "store-orders orders list" before you import them again$/,
    );
  });
});

describe('imports into PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine();
  proveImports(async () => ({ DATABASE_URL: await createDatabase(engine) }));
});
