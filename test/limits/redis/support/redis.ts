import { after, before, beforeEach } from 'node:test';
import { type RedisServer, skip, startRedis } from '../../../support/redis-server.js';

/**
 * Starts a Redis server for the tests of a file, empties the server before each test, and stops it
 * after the last test. Returns a function that returns the server's client.
 */
export function useRedis(): () => RedisServer['client'] {
  let server: RedisServer | undefined;
  before(async () => {
    if (!skip) server = await startRedis();
  });
  beforeEach(async () => {
    await server?.client.flushall();
  });
  after(() => server?.stop());
  return () => {
    if (server === undefined) throw new Error('the Redis server is not running; it starts before the first test');
    return server.client;
  };
}
