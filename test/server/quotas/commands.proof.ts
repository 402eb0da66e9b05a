import { after, before, suite } from 'node:test';
import { type Server, skip, startServer } from '../../limits/redis/support/server.js';
import { testBanCommands } from '../support/ban-commands.js';
import { testQuotaCommands } from '../support/quota-commands.js';

suite('the commands on quotas', { skip }, () => {
  let redis: Server;
  const url = () => `redis://127.0.0.1:${redis.port}`;

  before(async () => {
    redis = await startServer();
  });
  after(() => redis.stop());

  testQuotaCommands({ name: 'in Redis', env: () => ({ REDIS_URL: url() }), place: url });
  testBanCommands({ name: 'in Redis', env: () => ({ REDIS_URL: url() }), place: url });
});
