import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseCommand } from '../../../dist/program/commands/command.js';
import { serveCommand } from '../../../dist/program/commands/serve.js';
import { readStorageSettings } from '../../../dist/program/commands/with-storage.js';
import { readSettings } from '../../../dist/program/settings/read-settings.js';
import { SETTING_NAMES } from '../../../dist/program/settings/settings.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { programIn, startServer } from '../support/program.js';

const CONFIG = join(temporaryDirectory(), 'settings.json');
const SHOP = 'postgres://ann:secret@127.0.0.1:1/shop';
const PASSWORD_ESCAPES = 'with @ / ? # in the password written %40 %2F %3F %23';
const DATABASE_URL = `expected a URL such as postgres://user:password@host:5432/database, ${PASSWORD_ESCAPES}`;
const REDIS_URL = `expected a URL such as redis://user:password@host:6379, ${PASSWORD_ESCAPES}; for a cluster, several URLs separated by commas`;
const PORT =
  'expected a whole number from 0 to 65535, or the path of a unix socket such as ./shop.sock, of at most 103 bytes';
const FILE = 'expected a file name or :memory:; for a PostgreSQL database use --database-url';
const PATH = 'expected "" or a path such as "/v1", with a slash before each segment and none after the last';
const PUBLIC_URL =
  'expected an http or https URL without the base path and without a slash at the end, such as https://shop.example/shop';
const ORIGIN = 'expected * or an origin without a path, such as https://shop.example';
const SENTINEL =
  'REDIS_URL: Sentinels are not asked; name the Redis server, at an address that follows its primary, such as that of a proxy';
const WORKERS = 'more than one worker needs PostgreSQL and Redis; name them with --database-url and --redis-url';
const COUNT = 'expected a whole number from';
const LONG_PATH = `./${'s'.repeat(100)}é`;
const QUOTED = 'begins with a quote; write the value without quotes, which "docker run --env-file" keeps';
const HELP = 'run "store-orders serve --help"';

type Environment = Readonly<Record<string, string>>;

/** Options of the command line, or a settings file's content, or variables, and what is wrong. */
type Mistake = readonly [given: string[] | string | Environment, says: string];

const badRedisUrl = (url: string): Mistake => [{ REDIS_URL: url }, `REDIS_URL: ${REDIS_URL}`];

const MISTAKES: readonly Mistake[] = [
  [['--port', '65536'], `--port: ${PORT}, not "65536"`],
  [['--port=-1'], `--port: ${PORT}, not "-1"`],
  [['--port', '-1'], `--port: ${PORT}, not "-1"`],
  [['--port', '1', '--port', '2'], `--port is given twice; ${HELP}`],
  [['--port', LONG_PATH], `--port: ${PORT}, not "${LONG_PATH}"`],
  [['--port', 'http://secret'], `--port: ${PORT}`],
  [['--port'], `missing value: --port=PORT; ${HELP}`],
  [['--port', '--host', 'localhost'], `missing value: --port=PORT; ${HELP}`],
  [['--host', 'ann:secret@localhost'], '--host: expected a host name or an address, not "ann:secret@localhost"'],
  [['--host', 'http://localhost'], '--host: expected a host name or an address'],
  [['--db='], `--db: ${FILE}, not ""`],
  [['--db', SHOP], `--db: ${FILE}`],
  [['--database-url', 'mysql://ann:secret@localhost/shop'], `--database-url: ${DATABASE_URL}`],
  [['--database-url', ''], `--database-url: ${DATABASE_URL}`],
  // Only a port can be the address of a service of Kubernetes.
  [{ DATABASE_URL: 'tcp://10.0.0.1:5432' }, `DATABASE_URL: ${DATABASE_URL}`],
  ...['/', '?', '#', ' '].map((character): Mistake => {
    return [{ DATABASE_URL: `postgres://ann:1${character}secret@localhost/shop` }, `DATABASE_URL: ${DATABASE_URL}`];
  }),
  [
    { DATABASE_URL: `${SHOP}\n` },
    'DATABASE_URL: ends in a space or line break; store it without one, as with printf %s',
  ],
  [
    ['--database-url', `${SHOP}?target_session_attrs=read-write`],
    '--database-url: pg ignores target_session_attrs; name one host, at an address that follows the primary, and leave the parameter out',
  ],
  [
    { DATABASE_URL: `${SHOP}?schema=shop` },
    'DATABASE_URL: pg ignores schema; write options=-c%20search_path%3DNAME instead',
  ],
  ['{"databaseUrl": 5432}', `${CONFIG}: databaseUrl: ${DATABASE_URL}`],
  ['{"redisUrl": 6379}', `${CONFIG}: redisUrl: ${REDIS_URL}`],
  ['{"host": 7}', `${CONFIG}: host: expected a host name or an address, not 7`],
  ['{"corsOrigins": ["*"]}', `${CONFIG}: corsOrigins: ${ORIGIN}, not ["*"]`],
  ...['http://:secret@localhost', 'redis://:se@cret@localhost', 'redis://:secret%@localhost'].map(badRedisUrl),
  ...['redis://ann:1?secret@h', 'redis://ann:1#secret@h', 'redis://h:65536', 'redis://a,b'].map(badRedisUrl),
  // An upper-case scheme is refused, and never means a connection without TLS.
  ...['REDISS://:secret@localhost', 'redis://a,rediss://b', 'redis://a/1,redis://b'].map(badRedisUrl),
  ...['redis://a,redis://b/1', 'redis://:s@a,redis://:t@b', 'redis://ann@a,redis://bob@b'].map(badRedisUrl),
  badRedisUrl('redis://a,redis://:secret@b'),
  ...['redis://a,valkey://b', 'redis://a?db=1', 'redis://a,redis://b?prefix=x'].map(badRedisUrl),
  ...['redis-sentinel://:secret@a', 'rediss+sentinel://a'].map((url): Mistake => [{ REDIS_URL: url }, SENTINEL]),
  [
    ['--database-url', SHOP],
    '--database-url: with PostgreSQL, quotas are counted in Redis or Valkey; name its server with --redis-url',
  ],
  [['--database-url', SHOP, '--db', 'file.db'], '--db and --database-url both name a database; use one of them'],
  [
    `{"databaseUrl": "${SHOP}", "db": "file.db"}`,
    `${CONFIG}: db and ${CONFIG}: databaseUrl both name a database; use one of them`,
  ],
  [['--base-path', '/v1/'], `--base-path: ${PATH}, not "/v1/"`],
  [{ STORE_ORDERS_BASE_PATH: '/a/..' }, `STORE_ORDERS_BASE_PATH: ${PATH}, not "/a/.."`],
  [{ STORE_ORDERS_BASE_PATH: '/./a' }, `STORE_ORDERS_BASE_PATH: ${PATH}, not "/./a"`],
  [['--public-url', 'shop.example'], `--public-url: ${PUBLIC_URL}, not "shop.example"`],
  [{ STORE_ORDERS_PUBLIC_URL: 'https://shop.example/' }, `STORE_ORDERS_PUBLIC_URL: ${PUBLIC_URL}`],
  ['{"trustProxy": 1.5}', `${CONFIG}: trustProxy: ${COUNT} 0 to 100, not 1.5`],
  ['{"trustProxy": -1}', `${CONFIG}: trustProxy: ${COUNT} 0 to 100, not -1`],
  [['--workers', '0'], `--workers: ${COUNT} 1 to 1024, not "0"`],
  [['--max-connections-per-address=1000001'], `--max-connections-per-address: ${COUNT} 0 to 1000000, not "1000001"`],
  [['--address-per-minute', '0'], `--address-per-minute: ${COUNT} 1 to 1000000000, not "0"`],
  [['--cors-origin', 'https://ann:secret@shop.example'], `--cors-origin: ${ORIGIN}`],
  [['--cors-origin', '*,shop.example'], `--cors-origin: ${ORIGIN}, not "*,shop.example"`],
  [['--metrics-port', 'on'], `--metrics-port: ${COUNT} 0 to 65535, not "on"`],
  [['--log', 'all'], '--log: expected requests or events, not "all"'],
  [['--workers', '2'], `--workers: ${WORKERS}`],
  [['--workers', '2', '--redis-url', 'redis://localhost'], `--workers: ${WORKERS}`],
  [['--no-sample=1'], `--no-sample takes no value; ${HELP}`],
  [{ STORE_ORDERS_SAMPLE: 'no' }, 'STORE_ORDERS_SAMPLE: expected true or false, not "no"'],
  ['{"port": [8080]}', `${CONFIG}: port: ${PORT}, not [8080]`],
  [`{"port": "${LONG_PATH}"}`, `${CONFIG}: port: ${PORT}, not "${LONG_PATH}"`],
  ['{"prot": 8080}', `${CONFIG}: unknown setting "prot"; did you mean "port"?`],
  [{ STORE_ORDERS_BD: 'x.db' }, 'unknown environment variable STORE_ORDERS_BD; did you mean STORE_ORDERS_DB?'],
  [
    { STORE_ORDERS_DB: 'x.db\n' },
    `STORE_ORDERS_DB: expected a file name or :memory:; for a PostgreSQL database use --database-url, not "x.db\\n"`,
  ],
  [{ STORE_ORDERS_DB: "'shop.db'" }, `STORE_ORDERS_DB: ${QUOTED}`],
  [{ DATABASE_URL: `"${SHOP}" # main` }, `DATABASE_URL: ${QUOTED}`],
  [{ STORE_ORDERS_PORT: '80' }, 'unknown environment variable STORE_ORDERS_PORT; did you mean PORT?'],
  [
    { STORE_ORDERS_DATABASE_URL: SHOP },
    'unknown environment variable STORE_ORDERS_DATABASE_URL; did you mean DATABASE_URL?',
  ],
  ['{"verbosity": 1}', `${CONFIG}: unknown setting "verbosity"; expected one of ${SETTING_NAMES.join(', ')}`],
  // The message quotes nothing of the file.
  [
    '{"databaseUrl": "postgres://ann:secret@localhost/shop"]',
    `--config: invalid JSON in ${CONFIG}, line 1 column 55: expected }`,
  ],
  ...['[]', 'null', '7'].map((json): Mistake => [json, `--config: expected a JSON object in ${CONFIG}`]),
  [{ STORE_ORDERS_CONFIG: 'absent.json' }, 'STORE_ORDERS_CONFIG: cannot read absent.json; name a JSON file'],
  [{ STORE_ORDERS_CONFIG: 'redis://:secret@host' }, 'STORE_ORDERS_CONFIG: cannot read the file; name a JSON file'],
];

function serveWith(given: Mistake[0]): unknown {
  if (Array.isArray(given)) return readSettings(parseCommand(serveCommand, given, {}));
  if (typeof given !== 'string') return readSettings(parseCommand(serveCommand, [], given));
  writeFileSync(CONFIG, given);
  return readSettings(parseCommand(serveCommand, ['--config', CONFIG], {}));
}

test('an invalid setting is reported in one sentence that names it as the user wrote it; "serve" prints the sentence and exits with 2', async () => {
  for (const [given, message] of MISTAKES) assert.throws(() => serveWith(given), { message });
  assert.equal(await programIn().misuse('serve --port 65536'), `--port: ${PORT}, not "65536"`);
});

const TABLE = `SETTING                   VALUE                                FROM
host                      127.0.0.1                            default
port                      8080                                 default
metricsPort                                                    default
corsOrigins               https://a.example,https://b.example  STORE_ORDERS_CORS_ORIGIN
workers                   1                                    default
db                        variable#1.db                        STORE_ORDERS_DB
databaseUrl                                                    default
redisUrl                                                       default
basePath                  /flag@0.9_~                          --base-path
publicUrl                                                      default
trustProxy                3                                    STORE_ORDERS_TRUST_PROXY
maxConnectionsPerAddress  1024                                 default
sample                    false                                STORE_ORDERS_SAMPLE
addressPerMinute          600                                  default
log                       events                               settings.json: log
`;

test('spaces after the commas between origins are ignored', () => {
  const flags = ['--cors-origin', 'https://a.example, https://b.example'];
  const { settings } = readSettings(parseCommand(serveCommand, flags, {}));
  assert.deepEqual(settings.corsOrigins, ['https://a.example', 'https://b.example']);
});

test('a variable that has the prefix of the settings, but is like none of them, is ignored', () => {
  // Kubernetes sets all but the last two for services with the names store-orders and store-orders-metrics.
  const others = {
    STORE_ORDERS_PORT: 'tcp://10.0.0.1:80',
    STORE_ORDERS_PORT_80_TCP: 'tcp://10.0.0.1:80',
    STORE_ORDERS_METRICS_PORT: 'tcp://10.0.0.2:9090',
    STORE_ORDERS_SERVICE_HOST: '10.0.0.1',
    STORE_ORDERS_SERVICE_PORT: '80',
    STORE_ORDERS_KEY: 'x',
    STORE_ORDERS_HOME: '/opt/store-orders',
  };
  const { settings, sources } = readSettings(parseCommand(serveCommand, [], others));
  assert.equal(settings.port, 8080);
  assert.equal(sources.size, 0);
});

test('options override variables, variables override the settings file, and "config print" shows where each value comes from', async (t) => {
  const cwd = temporaryDirectory();
  const settings = { db: 'file.db', basePath: '/file', trustProxy: 2, log: 'events' };
  // Notepad begins a file with a byte order mark.
  writeFileSync(join(cwd, 'settings.json'), `\ufeff${JSON.stringify(settings)}`);
  const env = {
    STORE_ORDERS_CONFIG: 'settings.json',
    STORE_ORDERS_DB: 'variable#1.db',
    STORE_ORDERS_CORS_ORIGIN: 'https://a.example,https://b.example',
    STORE_ORDERS_SAMPLE: 'false',
    HOST: '',
    STORE_ORDERS_BASE_PATH: '/variable',
    STORE_ORDERS_TRUST_PROXY: '3',
  };
  const { output, json } = programIn({ cwd, env });
  assert.equal(await output('config print --base-path /flag@0.9_~'), TABLE);
  const { trustProxy, corsOrigins, databaseUrl } = Object(await json('config print'));
  assert.deepEqual(trustProxy, { value: 3, from: 'STORE_ORDERS_TRUST_PROXY' });
  assert.deepEqual(corsOrigins, { value: 'https://a.example,https://b.example', from: 'STORE_ORDERS_CORS_ORIGIN' });
  assert.deepEqual(databaseUrl, { value: null, from: 'default' });

  const server = await startServer(t, { cwd, env }, '--base-path', '/flag');
  assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/flag$/);
  assert.equal(server.log()[0]?.['db'], 'variable#1.db');
  assert.equal((await fetch(`${server.url}/store/orders`)).status, 401);
  assert.equal(await server.stop('SIGTERM'), 0);
  assert.doesNotMatch(server.stderr(), /sample/, 'the variable turns off the sample orders');
  assert.ok(!server.stdout().includes('"request"'), 'the settings file turns off the log lines of requests');
});

test('if a database file and a PostgreSQL database are set, the setting with the higher precedence wins; server settings such as PORT are ignored', async () => {
  const cwd = temporaryDirectory();
  const [url, file] = [join(cwd, 'url.json'), join(cwd, 'file.json')];
  writeFileSync(url, JSON.stringify({ databaseUrl: SHOP }));
  writeFileSync(file, JSON.stringify({ db: 'file.db' }));
  // A setting that is overridden is not checked. For example, the invalid URL mysql://shop does not
  // cause an error.
  const rows: readonly (readonly [args: readonly string[], env: Environment, isFile: boolean])[] = [
    [['--db', 'file.db'], { DATABASE_URL: SHOP }, true],
    [['--db', 'file.db'], { DATABASE_URL: 'mysql://shop' }, true],
    [['--config', url], { STORE_ORDERS_DB: 'file.db' }, true],
    [['--config', file], { STORE_ORDERS_CONFIG: url }, true],
    [[], { DATABASE_URL: '', STORE_ORDERS_CONFIG: '', STORE_ORDERS_DB: 'file.db' }, true],
    [['--database-url', SHOP], { STORE_ORDERS_DB: 'file.db' }, false],
    [['--config', file], { DATABASE_URL: SHOP }, false],
    [['--config', url], {}, false],
    [[], { DATABASE_URL: SHOP }, false],
  ];
  for (const [args, env, isFile] of rows) {
    const { db, databaseUrl } = readStorageSettings(parseCommand(serveCommand, args, { PORT: 'http', ...env }));
    const expected = isFile ? ['file.db', undefined] : ['store-orders.db', SHOP];
    assert.deepEqual([db, databaseUrl], expected, `${args} ${Object.keys(env)}`);
  }
});
