import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { programIn } from '../../program/support/program.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';

const PASSWORD = 'horse battery';
const ENCODED_PASSWORD = encodeURIComponent(PASSWORD);

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
    return { url, ...programIn({ env: { DATABASE_URL: url } }) };
  }

  test('the commands work with PostgreSQL as with a SQLite file', async () => {
    const { output, json, failure } = await newDatabase();
    const orders = [
      '{"id":-1,"status":"pending"}',
      '{"id":5,"status":"cancelled"}',
      '{"id":9007199254740993,"petId":7,"quantity":2,"shipDate":"2026-03-02T10:00:00Z","complete":true,"status":"on_hold"}',
    ];
    const input = orders.toReversed().join('\n');
    const command = 'orders import - --statuses on_hold';
    assert.equal(await output(command, input), '3 orders imported: 1 cancelled, 1 on_hold, 1 pending\n');
    assert.equal(
      await failure(command, input),
      'stdin:1: the id 9007199254740993 is already stored; use --replace to overwrite it; nothing was imported',
    );
    assert.equal(
      await failure(`${command} --replace`, `${input}\n{"id":-1}\n{"id":5}`),
      'stdin:4: the id -1 is already on line 3; nothing was imported',
    );
    await output(`${command} --replace`, input);
    assert.equal(await output('orders export'), `${orders.join('\n')}\n`);
    assert.equal(await output('orders show 9007199254740993 --json'), `${orders[2]}\n`);
    assert.equal(await output('orders ship -- -1'), 'the order -1 is shipped\n');
    const { id } = Object(await json('keys create --plan pro --name Ann'));
    assert.match(await output('keys list'), /\nkey_\w{10} {2}\S+Z {2}pro +"Ann"\n$/);
    assert.equal(await output(`keys revoke ${id}`), `${id} is revoked\n`);
  });

  test('a command that needs existing orders or keys refuses a PostgreSQL database without the tables of the program', async () => {
    const { failure, url } = await newDatabase();
    for (const command of ['orders export', 'keys list', 'keys revoke key_a']) {
      assert.match(
        await failure(command),
        /^cannot open the database postgres:\/\/\S+: it has no store-orders tables; .+ or start the server to create them$/,
      );
    }
    const client = new pg.Client(url);
    await client.connect();
    assert.equal((await client.query("SELECT to_regclass('store_orders_versions') AS name")).rows[0].name, null);
    await client.end();
  });

  test('db check and db backup refuse PostgreSQL', async () => {
    const { misuse, failure } = await newDatabase();
    for (const command of ['db check', 'db backup copy.db']) {
      assert.equal(
        await misuse(command),
        'the db commands need a SQLite file, but the settings name a PostgreSQL database; name a file with --db, or use pg_dump and pg_restore',
      );
      assert.match(await failure(`${command} --db absent.db`), /^there is no database absent\.db/);
    }
  });

  test('error messages never show the password in the URL of the database', async () => {
    const { url, output, failure } = await newDatabase();
    await output('keys create --plan free');
    const client = new pg.Client(url);
    await client.connect();
    await client.query(`DROP ROLE IF EXISTS ann; CREATE ROLE ann LOGIN PASSWORD '${PASSWORD}x'`);
    const withUser = url.replace('postgres@', `ann:${ENCODED_PASSWORD}@`);
    for (const [url, says] of [
      [withUser, /cannot open the database postgres:\/\/%2F\S+: password authentication failed for user "ann"/],
      [
        `postgres://ann:${ENCODED_PASSWORD}@localhost:1/shop`,
        /database postgres:\/\/localhost:1\/shop: connect ECONNREFUSED/,
      ],
      [
        `postgres://absent.invalid/shop?user=ann&password=${ENCODED_PASSWORD}`,
        /postgres:\/\/absent\.invalid:5432\/shop: /,
      ],
      [
        `postgres://ann:${ENCODED_PASSWORD}@localhost/shop?sslcert=/absent`,
        /cannot open the database of this URL: ENOENT/,
      ],
    ] as const) {
      const message = await failure(['keys', 'list', '--database-url', url]);
      assert.match(message, says);
      assert.doesNotMatch(message, /horse/);
    }
    await client.query(`ALTER ROLE ann PASSWORD '${PASSWORD}'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ann`);
    await client.end();
    await output(['keys', 'list', '--database-url', withUser]);
  });
});
