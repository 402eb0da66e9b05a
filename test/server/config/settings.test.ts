import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseRedisUrl } from '../../../dist/server/config/urls.js';
import { sampled } from '../../support/sampled.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { programIn, startServer } from '../support/program.js';

const SHOP = 'postgres://ann:secret@127.0.0.1:1/shop';
const PASSWORD_ESCAPES = 'with @ / ? # in the password written %40 %2F %3F %23';
const DATABASE_URL = `expected a URL such as postgres://user:password@host:5432/database, ${PASSWORD_ESCAPES}`;
const REDIS_URL = `expected a URL such as redis://user:password@host:6379, ${PASSWORD_ESCAPES}; for a cluster, several URLs separated by commas`;
const PORT =
  'expected a whole number from 0 to 65535, or the path of a unix socket such as ./shop.sock, of at most 103 bytes';
const FILE = 'expected a file name or :memory:; for a PostgreSQL database use --database-url';
const PATH = 'expected a path such as /v1, without a trailing slash and without . and .. segments';
const ORIGIN = 'expected * or an origin without a path, such as https://shop.example';
const WORKERS = 'more than one worker needs PostgreSQL and Redis; name them with --database-url and --redis-url';
const LONG_PATH = `./${'s'.repeat(100)}é`;
const HELP = 'run "store-orders serve --help"';
const REDIS_OF = (url: string) => ({ REDIS_URL: url });

/** Options of the command line, or a settings file's content, or variables, and what is wrong. */
type Mistake = readonly [given: string[] | string | Readonly<Record<string, string>>, says: string];

const MISTAKES: readonly Mistake[] = [
  [['--port', '65536'], `--port: ${PORT}, not "65536"`],
  [['--port=-1'], `--port: ${PORT}, not "-1"`],
  [['--port', LONG_PATH], `--port: ${PORT}, not "${LONG_PATH}"`],
  [['--port', 'http://secret'], `--port: ${PORT}`],
  [['--port'], `missing value: --port=PORT; ${HELP}`],
  [['--port', '--host', 'localhost'], `missing value: --port=PORT; ${HELP}`],
  [['--host', 'http://ann:secret@localhost'], '--host: expected a host name or an address'],
  [['--db='], `--db: ${FILE}, not ""`],
  [['--db', SHOP], `--db: ${FILE}`],
  [['--database-url', 'mysql://ann:secret@localhost/shop'], `--database-url: ${DATABASE_URL}`],
  [['--database-url', ''], `--database-url: ${DATABASE_URL}`],
  ...['/', '?', '#', ' '].map((character): Mistake => {
    return [{ DATABASE_URL: `postgres://ann:1${character}secret@localhost/shop` }, `DATABASE_URL: ${DATABASE_URL}`];
  }),
  ['{"databaseUrl": 5432}', `settings.json: databaseUrl: ${DATABASE_URL}`],
  [REDIS_OF('http://:secret@localhost'), `REDIS_URL: ${REDIS_URL}`],
  [REDIS_OF('redis://:se@cret@localhost'), `REDIS_URL: ${REDIS_URL}`],
  [REDIS_OF('redis://:secret%@localhost'), `REDIS_URL: ${REDIS_URL}`],
  [REDIS_OF('redis://ann:1?secret@localhost'), `REDIS_URL: ${REDIS_URL}`],
  [REDIS_OF('redis://ann:1#secret@localhost'), `REDIS_URL: ${REDIS_URL}`],
  [REDIS_OF('redis://localhost:65536'), `REDIS_URL: ${REDIS_URL}`],
  // An upper-case scheme is refused, and never means a connection without TLS.
  [REDIS_OF('REDISS://:secret@localhost'), `REDIS_URL: ${REDIS_URL}`],
  [REDIS_OF('redis://a,b'), `REDIS_URL: ${REDIS_URL}`],
  [REDIS_OF('redis://a/1,redis://b/1'), `REDIS_URL: ${REDIS_URL}`],
  [REDIS_OF('redis://a,rediss://b'), `REDIS_URL: ${REDIS_URL}`],
  [REDIS_OF('redis://:secret@a,redis://:secret2@b'), `REDIS_URL: ${REDIS_URL}`],
  [
    ['--database-url', SHOP],
    '--database-url: with PostgreSQL, quotas are counted in Redis or Valkey; name its server with --redis-url',
  ],
  [['--database-url', SHOP, '--db', 'file.db'], '--db and --database-url both name a database; use one of them'],
  [
    `{"databaseUrl": "${SHOP}", "db": "file.db"}`,
    'settings.json: db and settings.json: databaseUrl both name a database; use one of them',
  ],
  [['--base-path', '/v1/'], `--base-path: ${PATH}, not "/v1/"`],
  [{ STORE_ORDERS_BASE_PATH: '/a/..' }, `STORE_ORDERS_BASE_PATH: ${PATH}, not "/a/.."`],
  [['--trust-proxy', 'yes'], '--trust-proxy: expected a whole number from 0 to 100, not "yes"'],
  [['--cors-origin', 'https://ann:secret@shop.example'], `--cors-origin: ${ORIGIN}`],
  [['--cors-origin', '*,shop.example'], `--cors-origin: ${ORIGIN}, not "*,shop.example"`],
  [['--metrics-port', 'on'], '--metrics-port: expected a whole number from 0 to 65535, not "on"'],
  [['--log', 'all'], '--log: expected requests or events, not "all"'],
  [['--workers', '2'], `--workers: ${WORKERS}`],
  [['--workers', '2', '--redis-url', 'redis://localhost'], `--workers: ${WORKERS}`],
  [['--no-sample=1'], `--no-sample takes no value; ${HELP}`],
  [{ STORE_ORDERS_SAMPLE: 'no' }, 'STORE_ORDERS_SAMPLE: expected true or false, not "no"'],
  ['{"port": [8080]}', `settings.json: port: ${PORT}, not [8080]`],
  [
    '{"prot": 8080}',
    'settings.json: unknown setting "prot"; expected one of host, port, metricsPort, corsOrigin, workers, db, databaseUrl, redisUrl, basePath, trustProxy, maxConnectionsPerAddress, sample, addressPerMinute, log',
  ],
  // The message quotes nothing of the file.
  [
    '{"databaseUrl": "postgres://ann:secret@localhost/shop"]',
    '--config: invalid JSON in settings.json, line 1 column 55: expected }',
  ],
  ['[]', '--config: expected a JSON object in settings.json'],
  [{ STORE_ORDERS_CONFIG: 'absent.json' }, 'STORE_ORDERS_CONFIG: cannot read absent.json; name a JSON file'],
  [{ STORE_ORDERS_CONFIG: 'redis://:secret@host' }, 'STORE_ORDERS_CONFIG: cannot read the file; name a JSON file'],
];

function serveWith(given: Mistake[0], cwd: string): Promise<string> {
  if (Array.isArray(given)) return programIn({ cwd }).misuse(['serve', ...given]);
  if (typeof given !== 'string') return programIn({ cwd, env: given }).misuse('serve');
  writeFileSync(join(cwd, 'settings.json'), given);
  return programIn({ cwd }).misuse('serve --config settings.json');
}

test('for an invalid setting, "serve" prints one sentence that names the setting as the user wrote it, and exits with 2', async () => {
  const cwd = temporaryDirectory();
  for (const [given, says] of sampled(MISTAKES)) assert.equal(await serveWith(given, cwd), says);
});

test('options override variables, variables override the settings file, and "config print" shows where each value comes from', async (t) => {
  const cwd = temporaryDirectory();
  const settings = { db: 'file.db', basePath: '/file', trustProxy: 2, sample: false, log: 'events' };
  writeFileSync(join(cwd, 'settings.json'), JSON.stringify(settings));
  const env = {
    STORE_ORDERS_CONFIG: 'settings.json',
    STORE_ORDERS_DB: 'variable.db',
    HOST: '',
    STORE_ORDERS_BASE_PATH: '/variable',
    STORE_ORDERS_TRUST_PROXY: '3',
  };
  const { output, json } = programIn({ cwd, env });
  const table = await output('config print --base-path /flag');
  assert.match(table, /^SETTING +VALUE +FROM\nhost +127\.0\.0\.1 +default\n/);
  assert.match(table, /\ndb +variable\.db +STORE_ORDERS_DB\n/);
  assert.match(table, /\nbasePath +\/flag +--base-path\n/);
  assert.match(table, /\nlog +events +settings\.json: log\n$/);
  const { trustProxy, sample, databaseUrl } = Object(await json('config print'));
  assert.deepEqual(trustProxy, { value: 3, from: 'STORE_ORDERS_TRUST_PROXY' });
  assert.deepEqual(sample, { value: false, from: 'settings.json: sample' });
  assert.deepEqual(databaseUrl, { value: null, from: 'default' });

  const server = await startServer(t, { cwd, env }, '--base-path', '/flag');
  assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/flag$/);
  assert.equal(server.log()[0]?.['db'], 'variable.db');
  assert.equal((await fetch(`${server.url}/store/orders`)).status, 401);
  assert.equal(await server.stop('SIGTERM'), 0);
  assert.doesNotMatch(server.stderr(), /sample/, 'the settings file turns off the sample orders');
  assert.ok(!server.stdout().includes('"request"'), 'the settings file turns off the log lines of requests');
});

test('a Redis URL without a port means port 6379, on every node of a cluster', () => {
  const portsIn = (url: string) => parseRedisUrl(url)?.nodes.map(({ port }) => port);
  assert.deepEqual(portsIn('redis://a'), [6379]);
  assert.deepEqual(portsIn('rediss://a:7000,rediss://b'), [7000, 6379]);
});

test('config print never shows a user, a password or a parameter of a URL', async () => {
  for (const [databaseUrl, redisUrl, shown] of sampled([
    ['postgres://ann:se,cret@h:1/shop', 'redis://ann:secret@a:1', 'postgres://h:1/shop redis://a:1'],
    [
      'postgres://ann:secret@@h/shop',
      'rediss://ann:secret@a,rediss://ann:secret@b',
      'postgres://h/shop rediss://a,rediss://b',
    ],
    ['postgres://h/shop?user=ann&password=secret', 'redis://:secret@a/3', 'postgres://h/shop redis://a/3'],
  ] as const)) {
    const { output } = programIn({ env: { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl } });
    for (const command of ['config print', 'config print --json']) {
      const text = await output(command);
      assert.doesNotMatch(text, /ann|se,?cret/);
      for (const url of shown.split(' ')) assert.ok(text.includes(url), text);
    }
  }
});

test('if a database file and a PostgreSQL database are set, the setting with the higher precedence wins; server settings such as PORT are ignored', async () => {
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
    const message = await programIn({ cwd, env: { PORT: 'http', ...env } }).failure(['keys', 'list', ...args]);
    const says = isFile ? 'there is no database file.db;' : 'cannot open the database postgres://127.0.0.1:1/shop:';
    assert.ok(message.startsWith(says), `${args} ${Object.keys(env)}: ${message}`);
  }
});
