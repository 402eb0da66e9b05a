import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { programIn } from '../support/program.js';

test('config print shows each setting and where it comes from', async () => {
  const { output, json, cwd } = programIn({ env: { PORT: '2', STORE_ORDERS_TRUST_PROXY: '3' } });
  writeFileSync(join(cwd, 'settings.json'), '{"log": "events", "port": 1, "sample": false}');
  const command = 'config print --config settings.json --host localhost';
  const table = await output(command);
  assert.match(table, /^SETTING +VALUE +FROM\nhost +localhost +--host\nport +2 +PORT\n/);
  assert.match(table, /\ntrustProxy +3 +STORE_ORDERS_TRUST_PROXY\n/);
  assert.match(table, /\nsample +false +settings\.json: sample\n/);
  assert.match(table, /\naddressPerMinute +600 +default\nlog +events +settings\.json: log\n$/);
  const { port, databaseUrl } = Object(await json(command));
  assert.deepEqual(port, { value: 2, from: 'PORT' });
  assert.deepEqual(databaseUrl, { value: null, from: 'default' });
});

test('config print never shows a user, a password or a parameter of a URL', async () => {
  for (const [databaseUrl, redisUrl, shown] of [
    ['postgres://ann:se,cret@h:1/shop', 'redis://ann:secret@a:1', 'postgres://h:1/shop redis://a:1'],
    [
      'postgres://ann:secret@@h/shop',
      'rediss://ann:secret@a,rediss://ann:secret@b',
      'postgres://h/shop rediss://a,rediss://b',
    ],
    ['postgres://h/shop?user=ann&password=secret', 'redis://:secret@a/3', 'postgres://h/shop redis://a/3'],
  ] as const) {
    const { output } = programIn({ env: { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl } });
    for (const command of ['config print', 'config print --json']) {
      const text = await output(command);
      assert.doesNotMatch(text, /ann|se,?cret/);
      for (const url of shown.split(' ')) assert.ok(text.includes(url), text);
    }
  }
});
