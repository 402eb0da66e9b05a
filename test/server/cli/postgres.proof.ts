import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { openPostgresStorage } from '../../../dist/server/storage/postgres.js';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { answerOf, type IssuedKey, run } from '../support/program.js';

const PASSWORD = 'horse battery';
const WRITTEN = encodeURIComponent(PASSWORD);

describe('the program with a PostgreSQL database', { skip: missingEngine }, async () => {
  // PostgreSQL trusts every user that connects to its socket, except ann, who needs a password.
  const directory = mkdtempSync(join(tmpdir(), 'store-orders-'));
  const access = join(directory, 'pg_hba.conf');
  writeFileSync(access, 'local all ann scram-sha-256\nlocal all all trust\n');
  chmodSync(directory, 0o755);
  after(() => rmSync(directory, { recursive: true, force: true }));
  const engine = await startEngine(`hba_file=${access}`);

  async function newDatabase() {
    const url = await createDatabase(engine);
    const cwd = temporaryDirectory();
    const program = (...args: readonly string[]) => run(args, { cwd, env: { DATABASE_URL: url } });
    return { url, cwd, program };
  }

  test('the orders commands work with PostgreSQL as with a SQLite file', async () => {
    const { program, cwd } = await newDatabase();
    const input = [
      '{"id":9007199254740993,"petId":7,"quantity":2,"shipDate":"2026-03-02T10:00:00Z","complete":true,"status":"on_hold"}',
      '{"id":-1}',
      '{"id":5,"status":"cancelled"}',
    ].join('\n');
    writeFileSync(join(cwd, 'orders.ndjson'), input);
    const imported = await program('orders', 'import', '--statuses', 'on_hold', 'orders.ndjson');
    assert.equal(imported.stdout, '3 orders imported: 1 cancelled, 1 on_hold, 1 pending\n');
    const again = await program('orders', 'import', '--statuses', 'on_hold', 'orders.ndjson');
    assert.deepEqual(
      [again.code, again.stderr],
      [
        1,
        'store-orders: orders.ndjson:1: the id 9007199254740993 is already stored; use --replace to overwrite it; nothing was imported\n',
      ],
    );
    assert.equal((await program('orders', 'import', '--replace', '--statuses', 'on_hold', 'orders.ndjson')).code, 0);
    const exported = [
      '{"id":-1,"status":"pending"}',
      '{"id":5,"status":"cancelled"}',
      '{"id":9007199254740993,"petId":7,"quantity":2,"shipDate":"2026-03-02T10:00:00Z","complete":true,"status":"on_hold"}',
    ];
    assert.equal((await program('orders', 'export')).stdout, `${exported.join('\n')}\n`);
    assert.equal((await program('orders', 'export', '--json')).stdout, `[${exported.join(',\n')}]\n`);
    assert.equal((await program('orders', 'show', '9007199254740993', '--json')).stdout, `${exported[2]}\n`);
    assert.equal((await program('orders', 'ship', '--', '-1')).stdout, 'the order -1 is shipped\n');
    assert.equal(
      (await program('orders', 'ship', '5')).stderr,
      'store-orders: the order 5 is already cancelled; only a pending order can be shipped\n',
    );
    assert.equal((await program('orders', 'show', '6')).stderr, 'store-orders: the order 6 does not exist\n');
  });

  test('orders that are read in several batches all come from one snapshot, even if orders change between the batches', async (t) => {
    const { url } = await newDatabase();
    const open = await openPostgresStorage(url, { create: true });
    assert.ok(open.ok);
    t.after(open.data.close);
    const { data } = open;
    await data.orders.put(Array.from({ length: 4_001 }, (_, id) => ({ id, quantity: 1 })));
    const ids: bigint[] = [];
    for await (const batch of data.records()) {
      for (const { id, status, quantity } of batch) {
        assert.deepEqual([status, quantity], ['pending', 1]);
        ids.push(id);
      }
      await data.orders.put([{ id: 4_000, quantity: 2 }, { id: 5_000 }], { replace: true });
    }
    assert.deepEqual(
      ids,
      Array.from({ length: 4_001 }, (_, id) => BigInt(id)),
    );
  });

  test('the keys commands work with PostgreSQL as with a SQLite file', async () => {
    const { program, url, cwd } = await newDatabase();
    const issued = (await answerOf(['keys', 'create', '--plan', 'pro', '--name', 'Ann', '--database-url', url], {
      cwd,
    })) as IssuedKey;
    assert.match((await program('keys', 'list')).stdout, /\nkey_\w{10} {2}\S+Z {2}pro +"Ann"\n$/);
    const changed = await program('keys', 'set-plan', issued.id, '--plan', 'enterprise', '--per-day', '9');
    assert.equal(changed.stdout, `${issued.id} now has the plan enterprise, 9 per day\n`);
    assert.equal((await program('keys', 'revoke', issued.id)).stdout, `${issued.id} is revoked\n`);
    assert.equal(
      (await program('keys', 'revoke', issued.id)).stderr,
      `store-orders: ${issued.id} is already revoked\n`,
    );
    assert.equal((await program('keys', 'revoke', 'key_absent')).code, 1);
  });

  test('several processes that start together on an empty database create the tables only once', async () => {
    const { program } = await newDatabase();
    const created = await Promise.all(
      Array.from({ length: 4 }, () => program('keys', 'create', '--plan', 'free', '--json')),
    );
    assert.deepEqual(
      created.map(({ code, stderr }) => [code, stderr]),
      created.map(() => [0, '']),
    );
    assert.equal((await program('keys', 'list')).stdout.split('\n').length, 6, 'a head, four keys and the end');
  });

  test('a command that needs existing orders or keys refuses a PostgreSQL database without the tables of the program', async () => {
    const { program, url } = await newDatabase();
    for (const args of [
      ['orders', 'export'],
      ['orders', 'show', '1'],
      ['keys', 'list'],
      ['keys', 'revoke', 'key_a'],
    ]) {
      const { code, stdout, stderr } = await program(...args);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^store-orders: postgres:\/\/\S+: it has no store-orders tables; check the name .+\n$/);
    }
    const client = new pg.Client(url);
    await client.connect();
    assert.equal((await client.query("SELECT to_regclass('store_orders_schema') AS name")).rows[0].name, null);
    await client.end();
  });

  test('db check and db backup refuse PostgreSQL', async () => {
    const { program } = await newDatabase();
    for (const args of [
      ['db', 'check'],
      ['db', 'backup', 'copy.db'],
    ]) {
      const { code, stderr } = await program(...args);
      assert.equal(code, 2);
      assert.match(stderr, /^store-orders: the db commands need an SQLite file, .+ pg_dump [^\n]+\n$/);
      assert.match((await program(...args, '--db', 'absent.db')).stderr, /there is no database absent\.db/);
    }
  });

  test('error messages never show the password in the URL of the database', async () => {
    const { url, cwd, program } = await newDatabase();
    await program('keys', 'create', '--plan', 'free');
    const client = new pg.Client(url);
    await client.connect();
    await client.query(`DROP ROLE IF EXISTS ann; CREATE ROLE ann LOGIN PASSWORD '${PASSWORD}x'`);
    const withUser = url.replace('postgres@', `ann:${WRITTEN}@`);
    const rows: readonly (readonly [url: string, code: number, says: RegExp])[] = [
      [withUser, 1, /cannot open the database postgres:\/\/%2F\S+: password authentication failed for user "ann"/],
      [`${withUser}x`.replace('test', 'absent'), 1, /cannot open the database postgres:\/\//],
      [
        `postgres://ann:${WRITTEN}@127.0.0.1:1/shop`,
        1,
        /database postgres:\/\/127\.0\.0\.1:1\/shop: no PostgreSQL server accepts connections there \(connect ECONNREFUSED/,
      ],
      [`postgres://ann:${WRITTEN}@localhost:1/shop`, 1, /database postgres:\/\/localhost:1\/shop: .*ECONNREFUSED/],
      [`postgres://absent.invalid/shop?user=ann&password=${WRITTEN}`, 1, /postgres:\/\/absent\.invalid:5432\/shop: /],
      [
        `postgres://ann:${WRITTEN}@localhost/shop?sslcert=/absent`,
        1,
        /cannot open the database of this URL: there is no such file or socket \(ENOENT/,
      ],
      [`postgres://ann:${PASSWORD}@localhost/shop`, 2, /--database-url: expected a URL such as/],
      [`postgres://ann:1/${WRITTEN}@localhost/shop`, 2, /--database-url: expected a URL such as/],
      [`postgres://ann:1?${WRITTEN}@localhost/shop`, 2, /--database-url: expected a URL such as/],
      [`postgres://ann:1#${WRITTEN}@localhost/shop`, 2, /--database-url: expected a URL such as/],
      [`postgres://ann:${WRITTEN}@localhost:99999/shop`, 2, /--database-url: expected a URL such as/],
      [`mysql://ann:${WRITTEN}@localhost/shop`, 2, /--database-url: expected a URL such as/],
    ];
    for (const [url, code, says] of rows) {
      for (const args of [
        ['keys', 'list'],
        ['keys', 'list', '--json'],
      ]) {
        const answer = await run([...args, '--database-url', url], { cwd });
        assert.equal(answer.code, code, url);
        assert.match(answer.stderr, says);
        const said = answer.stdout + answer.stderr;
        assert.ok(!said.includes(PASSWORD) && !said.includes(WRITTEN) && !said.includes('horse'), said);
      }
    }
    await client.query(`ALTER ROLE ann PASSWORD '${PASSWORD}'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ann`);
    await client.end();
    assert.equal(
      (await run(['keys', 'list', '--database-url', withUser], { cwd })).code,
      0,
      'the command succeeds with the correct password',
    );
  });
});
