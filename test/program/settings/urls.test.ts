import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCommand } from '../../../dist/program/commands/command.js';
import { configCommand } from '../../../dist/program/commands/config-print.js';
import { isPostgresUrl, parseRedisUrl } from '../../../dist/program/settings/urls.js';

test('the URLs of databases and of Redis servers are read, with default ports, databases, escapes and the nodes of a cluster', () => {
  for (const url of ['postgres://', 'postgresql://ann:s%40@h:1/shop', 'postgres://ann@/shop?host=/run']) {
    assert.ok(isPostgresUrl(url), url);
  }
  const plain = { db: 0, tls: false };
  const a = { host: 'a', port: 6379 };
  const b = { host: '::1', port: 17_000 };
  for (const [url, expected] of Object.entries({
    'redis://a': { ...plain, nodes: [a], name: 'redis://a:6379' },
    'rediss://a%3An:s%40x@[::1]:17000/15': {
      ...{ nodes: [b], username: 'a:n', password: 's@x', db: 15, tls: true },
      name: 'rediss://[::1]:17000/15',
    },
    'redis://:x@[::1]:17000,redis://a/0': {
      ...{ ...plain, nodes: [b, a], password: 'x' },
      name: 'redis://[::1]:17000,a:6379',
    },
    'valkey://a/1?family=0': { ...plain, nodes: [a], db: 1, name: 'valkey://a:6379/1' },
    'valkeys://a?prefix=staging:&family=0,valkeys://[::1]:17000': {
      ...{ db: 0, tls: true, nodes: [a, b], prefix: 'staging:' },
      name: 'valkeys://a:6379,[::1]:17000',
    },
    'rediss://a,rediss://[::1]:17000': { nodes: [a, b], db: 0, tls: true, name: 'rediss://a:6379,[::1]:17000' },
  })) {
    assert.deepEqual(parseRedisUrl(url), expected);
  }
});

test('config print never shows a user, a password or a parameter of a URL', async () => {
  for (const [DATABASE_URL, REDIS_URL, shown] of [
    ['postgres://ann:se,cret@h:1/shop', 'redis://ann:secret@a:1', ['postgres://h:1/shop', 'redis://a:1']],
    [
      'postgres://ann:secret@@h/shop',
      'rediss://ann:secret@a,rediss://ann:secret@b',
      ['postgres://h/shop', 'rediss://a,rediss://b'],
    ],
    ['postgres://h/shop?user=ann&password=secret', 'redis://:secret@a/3', ['postgres://h/shop', 'redis://a/3']],
  ] as const) {
    const environment = { DATABASE_URL, REDIS_URL, STORE_ORDERS_SAMPLE: 'false' };
    const { text, json } = Object(await configCommand.run(parseCommand(configCommand, [], environment)));
    const { databaseUrl, redisUrl, sample } = JSON.parse(json);
    assert.deepEqual([databaseUrl.value, redisUrl.value, sample.value], [...shown, false]);
    assert.doesNotMatch(text + json, /ann|se,?cret/);
  }
});
