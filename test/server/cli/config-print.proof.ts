import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { answerOf, run } from '../support/program.js';

test('config print shows each setting and where it comes from', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'settings.json'), '{"log": "events", "port": 1, "sample": false}');
  const options = { cwd, env: { PORT: '2', STORE_ORDERS_TRUST_PROXY: '3' } };
  const args = ['config', 'print', '--config', 'settings.json', '--host', 'localhost'];
  const { code, stdout } = await run(args, options);
  assert.equal(code, 0);
  assert.match(stdout, /^SETTING +VALUE +FROM\nhost +localhost +--host\nport +2 +PORT\n/);
  assert.match(stdout, /\ntrustProxy +3 +STORE_ORDERS_TRUST_PROXY\n/);
  assert.match(stdout, /\nsample +false +settings\.json: sample\n/);
  assert.match(stdout, /\naddressPerMinute +600 +default\nlog +events +settings\.json: log\n$/);
  const json = await answerOf(args, options);
  assert.ok(typeof json === 'object' && json !== null && 'port' in json && 'databaseUrl' in json);
  assert.deepEqual(json.port, { value: 2, from: 'PORT' });
  assert.deepEqual(json.databaseUrl, { value: null, from: 'default' });
});

test('config print never shows a user, a password or a parameter of a URL', async () => {
  const cwd = temporaryDirectory();
  const rows: readonly (readonly [databaseUrl: string, redisUrl: string, shown: string])[] = [
    ['postgres://ann:se,cret@h:1/shop', 'redis://ann:secret@a:1', 'postgres://h:1/shop redis://a:1'],
    [
      'postgres://ann:secret@@h/shop',
      'rediss://ann:secret@a,rediss://ann:secret@b',
      'postgres://h/shop rediss://a,rediss://b',
    ],
    ['postgres://h/shop?user=ann&password=secret', 'redis://:secret@a/3', 'postgres://h/shop redis://a/3'],
  ];
  for (const [databaseUrl, redisUrl, shown] of rows) {
    const env = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
    for (const json of [[], ['--json']]) {
      const { code, stdout, stderr } = await run(['config', 'print', ...json], { cwd, env });
      assert.equal(code, 0, stderr);
      assert.ok(!/ann|se,?cret/.test(stdout), stdout);
      for (const url of shown.split(' ')) assert.ok(stdout.includes(url), stdout);
    }
  }
});

test('config print refuses the settings that serve refuses', async () => {
  const { code, stderr } = await run(['config', 'print', '--port', 'x'], { cwd: temporaryDirectory() });
  assert.equal(code, 2);
  assert.match(stderr, /^store-orders: --port: expected a whole number from 0 to 65535, or .*, not "x"\n$/);
});
