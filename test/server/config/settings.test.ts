import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sampled } from '../../support/sampled.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { run, startServer } from '../support/program.js';

interface Mistake {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The content of `settings.json`. If it is set, the test passes this file by `--config`. */
  readonly file?: string;
  readonly says: string;
}

const SHOP = 'postgres://ann:secret@127.0.0.1:1/shop';
const DATABASE_URL =
  'expected a URL such as postgres://user:password@host:5432/database, with @ / ? # in the password written %40 %2F %3F %23';
const WHOLE_PORT = 'expected a whole number from 0 to 65535, or the path of a unix socket such as ./shop.sock';

const MOST_BYTES = process.platform === 'linux' ? 107 : 103;
const SHORT_PATH = `expected a path of at most ${MOST_BYTES} bytes, which is the limit of the system for unix sockets`;
const LONG_PATH = `./${'s'.repeat(MOST_BYTES - 3)}é`;

const MISTAKES: readonly Mistake[] = [
  { args: ['--port', '80a'], says: `--port: ${WHOLE_PORT}, not "80a"` },
  { args: ['--port', '65536'], says: `--port: ${WHOLE_PORT}, not 65536` },
  { args: ['--port', '-1'], says: '--port: write --port=-1 for a value that begins with "-"' },
  { args: ['--port=-1'], says: `--port: ${WHOLE_PORT}, not "-1"` },
  { args: ['--port', '1.5'], says: `--port: ${WHOLE_PORT}, not "1.5"` },
  { args: ['--port'], says: 'missing value: --port PORT; run "store-orders serve --help"' },
  { args: ['--port', '--host', 'localhost'], says: 'missing value: --port PORT; run "store-orders serve --help"' },
  { args: ['--host', ''], says: '--host: expected a host name or an address, not ""' },
  { args: ['--host', 'http://ann:secret@localhost'], says: '--host: expected a host name or an address' },
  { args: ['--db='], says: '--db: expected a file name or :memory:, not ""' },
  {
    args: ['--db', 'postgres://ann:secret@localhost/shop'],
    says: '--db: expected a file name; for a PostgreSQL database use --database-url',
  },
  { args: ['--database-url', 'mysql://ann:secret@localhost/shop'], says: `--database-url: ${DATABASE_URL}` },
  { args: ['--database-url', ''], says: `--database-url: ${DATABASE_URL}` },
  { env: { DATABASE_URL: 'postgres://ann:1/secret@localhost/shop' }, says: `DATABASE_URL: ${DATABASE_URL}` },
  { file: '{"databaseUrl": 5432}', says: `settings.json: databaseUrl: ${DATABASE_URL}` },
  {
    env: { REDIS_URL: 'http://:secret@localhost' },
    says: 'REDIS_URL: expected a URL such as redis://user:password@host:6379, with @ / ? # in the password written %40 %2F %3F %23; for a cluster, several URLs separated by commas',
  },
  {
    args: ['--database-url', SHOP],
    says: '--database-url: with PostgreSQL, quotas are counted in Redis or Valkey; name its server with --redis-url',
  },
  {
    args: ['--database-url', SHOP, '--db', 'file.db'],
    says: '--db and --database-url both name a database; use one of them',
  },
  {
    env: { DATABASE_URL: SHOP, STORE_ORDERS_DB: 'file.db' },
    says: 'STORE_ORDERS_DB and DATABASE_URL both name a database; use one of them',
  },
  {
    file: `{"databaseUrl": "${SHOP}", "db": "file.db"}`,
    says: 'db in settings.json and databaseUrl in settings.json both name a database; use one of them',
  },
  { args: ['--port', LONG_PATH], says: `--port: ${SHORT_PATH}, not "${LONG_PATH}"` },
  { args: ['--port', 'http://secret'], says: `--port: ${WHOLE_PORT}` },
  {
    args: ['--base-path', 'v1'],
    says: '--base-path: expected a path such as /v1, without a trailing slash, not "v1"',
  },
  {
    args: ['--base-path', '/v1/'],
    says: '--base-path: expected a path such as /v1, without a trailing slash, not "/v1/"',
  },
  { args: ['--trust-proxy', 'yes'], says: '--trust-proxy: expected a whole number from 0 to 100, not "yes"' },
  { args: ['--no-sample=1'], says: '--no-sample takes no value; run "store-orders serve --help"' },
  {
    args: ['--cors-origin', 'https://ann:secret@shop.example'],
    says: '--cors-origin: expected * or an origin without a path, such as https://shop.example',
  },
  {
    args: ['--cors-origin', 'shop.example'],
    says: '--cors-origin: expected * or an origin without a path, such as https://shop.example, not "shop.example"',
  },
  {
    args: ['--metrics-port', 'on'],
    says: '--metrics-port: expected a whole number from 0 to 65535, not "on"',
  },
  { args: ['--log', 'all'], says: '--log: expected requests or events, not "all"' },
  { args: ['--threads', '4'], says: 'unknown option --threads; run "store-orders serve --help"' },
  { args: ['--workers', '0'], says: '--workers: expected a whole number from 1 to 1024, not 0' },
  { args: ['here'], says: 'unexpected argument "here"; run "store-orders serve --help"' },
  { args: ['redis://:secret@host'], says: 'unexpected argument; run "store-orders serve --help"' },
  { env: { PORT: 'http' }, says: `PORT: ${WHOLE_PORT}, not "http"` },
  {
    env: { STORE_ORDERS_BASE_PATH: 'v1' },
    says: 'STORE_ORDERS_BASE_PATH: expected a path such as /v1, without a trailing slash, not "v1"',
  },
  {
    env: { STORE_ORDERS_TRUST_PROXY: '-1' },
    says: 'STORE_ORDERS_TRUST_PROXY: expected a whole number from 0 to 100, not "-1"',
  },
  { env: { STORE_ORDERS_SAMPLE: 'no' }, says: 'STORE_ORDERS_SAMPLE: expected true or false, not "no"' },
  {
    env: { STORE_ORDERS_ADDRESS_PER_MINUTE: '0' },
    says: 'STORE_ORDERS_ADDRESS_PER_MINUTE: expected a whole number from 1 to 1000000000, not 0',
  },
  { env: { STORE_ORDERS_LOG: 'none' }, says: 'STORE_ORDERS_LOG: expected requests or events, not "none"' },
  {
    env: { STORE_ORDERS_CONFIG: 'absent.json' },
    says: 'STORE_ORDERS_CONFIG: cannot read absent.json; name a JSON file',
  },
  { file: '{"port": "8080"}', says: `settings.json: port: ${WHOLE_PORT}, not "8080"` },
  { file: '{"sample": null}', says: 'settings.json: sample: expected true or false, not null' },
  {
    file: '{"prot": 8080}',
    says: 'settings.json: unknown setting "prot"; expected one of host, port, metricsPort, corsOrigin, workers, db, databaseUrl, redisUrl, basePath, trustProxy, maxConnectionsPerAddress, sample, addressPerMinute, log',
  },
  { file: '[]', says: '--config: expected a JSON object in settings.json' },
  { file: '8080', says: '--config: expected a JSON object in settings.json' },
];

test('for an invalid setting, "serve" prints one sentence that names the setting as the user wrote it, and exits with 2', async () => {
  const cwd = temporaryDirectory();
  for (const { args = [], env = {}, file, says } of sampled(MISTAKES)) {
    if (file !== undefined) writeFileSync(join(cwd, 'settings.json'), file);
    const config = file === undefined ? [] : ['--config', 'settings.json'];
    const { code, stdout, stderr } = await run(['serve', ...config, ...args], { cwd, env });
    assert.ok(!stderr.includes('secret'), stderr);
    assert.deepEqual({ code, stdout, stderr }, { code: 2, stdout: '', stderr: `store-orders: ${says}\n` });
  }
});

test('the error for invalid JSON in a settings file contains the line and column, but no secret', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'settings.json'), '{"port": 80');
  const { code, stderr } = await run(['serve', '--config', 'settings.json'], { cwd });
  assert.equal(code, 2);
  assert.equal(stderr, 'store-orders: --config: invalid JSON in settings.json, line 1 column 12: expected }\n');
  writeFileSync(join(cwd, 'settings.json'), '{"databaseUrl": "postgres://ann:secret@localhost/shop"]');
  const quoting = await run(['serve', '--config', 'settings.json'], { cwd });
  assert.match(quoting.stderr, /^store-orders: --config: invalid JSON in settings\.json, line 1 column \d+: expect/);
  assert.ok(!quoting.stderr.includes('secret'));
});

test('options override variables, variables override the settings file, and the settings file overrides defaults', async (t) => {
  const cwd = temporaryDirectory();
  const settings = { db: 'file.db', basePath: '/file', sample: false, log: 'events' };
  writeFileSync(join(cwd, 'settings.json'), JSON.stringify(settings));
  const env = {
    STORE_ORDERS_CONFIG: 'settings.json',
    STORE_ORDERS_DB: 'variable.db',
    HOST: '',
    STORE_ORDERS_BASE_PATH: '/variable',
  };
  const server = await startServer(t, { cwd, env }, '--base-path', '/flag');
  assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/flag$/);
  assert.equal(server.log()[0]?.['db'], 'variable.db');
  assert.equal((await fetch(`${server.url}/store/orders`)).status, 401);
  assert.equal(await server.stop('SIGTERM'), 0);
  assert.equal(server.stderr(), '', 'the settings file turns off the sample orders');
  assert.deepEqual(
    server.log().map(({ event }) => event),
    ['listening', 'stopping', 'stopped'],
    'the settings file turns off the log lines of requests',
  );
});

test('if a database file and a PostgreSQL database are set, the setting with the higher precedence wins', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'url.json'), JSON.stringify({ databaseUrl: SHOP }));
  writeFileSync(join(cwd, 'file.json'), JSON.stringify({ db: 'file.db' }));
  // A setting that is overridden is not checked. For example, the invalid URL mysql://shop does not
  // cause an error.
  const rows: readonly (readonly [args: readonly string[], env: Record<string, string>, isFile: boolean])[] = [
    [['--db', 'file.db'], { DATABASE_URL: SHOP }, true],
    [['--db', 'file.db'], { DATABASE_URL: 'mysql://shop' }, true],
    [['--config', 'url.json'], { STORE_ORDERS_DB: 'file.db' }, true],
    [['--config', 'file.json'], {}, true],
    [[], { DATABASE_URL: '', STORE_ORDERS_DB: 'file.db' }, true],
    [['--database-url', SHOP], { STORE_ORDERS_DB: 'file.db' }, false],
    [['--config', 'file.json'], { DATABASE_URL: SHOP }, false],
    [['--config', 'url.json'], {}, false],
    [[], { DATABASE_URL: SHOP }, false],
  ];
  for (const [args, env, isFile] of rows) {
    const { code, stderr } = await run(['keys', 'list', ...args], { cwd, env });
    assert.equal(code, 1);
    const says = isFile ? 'there is no database file.db;' : 'cannot open the database postgres://127.0.0.1:1/shop:';
    assert.ok(stderr.startsWith(`store-orders: ${says}`), `${args} ${Object.keys(env)}: ${stderr}`);
  }
});

test('commands other than "serve" read the database settings, and ignore server settings such as PORT', async () => {
  const cwd = temporaryDirectory();
  const env = { STORE_ORDERS_DB: 'variable.db', PORT: 'http' };
  assert.equal((await run(['keys', 'create', '--plan', 'free'], { cwd, env })).code, 0);
  assert.equal((await run(['keys', 'list', '--db', 'variable.db'], { cwd })).code, 0);
  const { code, stderr } = await run(['keys', 'list', '--db', ''], { cwd });
  assert.deepEqual([code, stderr], [2, 'store-orders: --db: expected a file name or :memory:, not ""\n']);
});

test("the server ignores a HOST variable set by conda's compilers", async (t) => {
  const cwd = temporaryDirectory();
  const settings: readonly Readonly<Record<string, string>>[] = [
    { HOST: 'x86_64-conda-linux-gnu', CONDA_TOOLCHAIN_HOST: 'x86_64-conda-linux-gnu' },
    { HOST: 'x86_64-conda_cos6-linux-gnu' },
    { HOST: 'arm64-apple-darwin20.0.0', CONDA_TOOLCHAIN_HOST: 'arm64-apple-darwin20.0.0' },
  ];
  for (const env of settings) {
    const { url } = await startServer(t, { cwd, env }, '--no-sample', '--db', ':memory:');
    assert.match(url, /^http:\/\/127\.0\.0\.1:/);
  }
});
