import { besideLists, longestLists, longLists } from './http/lists.js';
import { loopback } from './http/loopback.js';
import { respond } from './http/respond.js';
import { shared } from './http/shared.js';
import { start } from './http/start.js';
import { limiters } from './limits/limiters.js';
import { redis } from './limits/redis.js';
import { cancelsOverHttp } from './orders/cancels.js';
import { cancelsInProcess } from './orders/cancels-in-process.js';
import { imports, sqlite3IsMissing } from './orders/import.js';
import { postgres } from './orders/postgres.js';
import { isQuick } from './processes/pace.js';
import { postgresIsMissing } from './processes/postgres-server.js';
import { redisIsMissing } from './processes/redis-server.js';
import { draw } from './report/chart.js';
import { machine } from './report/machine.js';
import { publish } from './report/readme.js';
import { printTable, type Table } from './report/table.js';

interface Part {
  /**
   * The name of a benchmark, which also marks its place in README.md. `npm run bench -- NAME…` runs
   * only the named benchmarks.
   */
  readonly name: string;
  readonly packages?: readonly string[];
  /** Returns the reason why this benchmark cannot run on this machine, or `undefined`. */
  readonly isMissing?: () => string | undefined;
  measure(): Promise<readonly Table[]>;
}

const LIMITERS = ['rate-limiter-flexible', 'express-rate-limit', '@fastify/rate-limit', 'hono-rate-limiter'];
const FRAMEWORKS = ['express', 'fastify', 'hono', '@hono/node-server', 'koa', '@koa/router', 'h3'];
const PARTS: readonly Part[] = [
  { name: 'limiter', packages: [...LIMITERS, 'limiter'], measure: limiters },
  { name: 'respond', measure: async () => [await respond()] },
  { name: 'loopback', packages: [...FRAMEWORKS, ...LIMITERS], measure: loopback },
  { name: 'cancels', measure: async () => [await cancelsInProcess(), ...(await cancelsOverHttp())] },
  { name: 'import', isMissing: sqlite3IsMissing, measure: async () => [await imports()] },
  { name: 'start', measure: async () => [await start()] },
  {
    name: 'lists',
    measure: async () => [await longLists(), ...(isQuick ? [] : [await longestLists()]), await besideLists()],
  },
  {
    name: 'redis',
    packages: ['rate-limiter-flexible'],
    isMissing: redisIsMissing,
    measure: redis,
  },
  { name: 'postgres', isMissing: postgresIsMissing, measure: postgres },
  {
    name: 'shared',
    packages: ['fastify', 'rate-limiter-flexible'],
    isMissing: () => redisIsMissing() ?? postgresIsMissing(),
    measure: async () => [await shared()],
  },
];

const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const unknown = wanted.find((word) => !PARTS.some(({ name }) => name === word));
if (unknown !== undefined) throw new TypeError(`${unknown}: expected ${PARTS.map(({ name }) => name).join(', ')}`);

for (const { name, packages = [], isMissing, measure } of PARTS) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const missing = isMissing?.();
  if (missing !== undefined) {
    console.log(`${name} skipped: ${missing}`);
    continue;
  }
  const startMs = performance.now();
  const tables = await measure();
  const took = `${((performance.now() - startMs) / 1_000).toFixed(1)} s`;
  if (isQuick) {
    for (const { chart } of tables) if (chart !== undefined) draw(chart);
    console.log(`${name} runs, ${took}`);
  } else {
    for (const table of tables) console.log(`${printTable(table)}\n`);
    console.log(`${name}: ${took}\n`);
    publish(name, machine(packages), tables);
  }
}
