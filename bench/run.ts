import { resolve } from 'node:path';
import { missingEngine } from '../test/support/postgres-server.js';
import { skip as missingRedis } from '../test/support/redis-server.js';
import { against } from './http/against.js';
import { besideLists, longLists } from './http/lists.js';
import { loopback } from './http/loopback.js';
import { program } from './http/program.js';
import { respond } from './http/respond.js';
import { shared } from './http/shared.js';
import { start } from './http/start.js';
import { storedLists } from './http/stored-lists.js';
import { limiters } from './limits/limiters.js';
import { redis } from './limits/redis.js';
import { missingWrk } from './load/load.js';
import { cancelsOverHttp } from './orders/cancels.js';
import { cancelsInProcess } from './orders/cancels-in-process.js';
import { imports, missingSqlite3 } from './orders/import.js';
import { postgres } from './orders/postgres.js';
import { writers } from './orders/writers.js';
import { isQuick } from './processes/pace.js';
import { draw } from './report/chart.js';
import { machine } from './report/machine.js';
import { publish, writePage } from './report/readme.js';
import { printTable, type Table } from './report/table.js';

interface Part {
  /**
   * The name of a benchmark, which also marks its place in README.md. `npm run bench -- NAME…` runs
   * only the named benchmarks.
   */
  readonly name: string;
  readonly packages?: readonly string[];
  /** The reason why this benchmark cannot run on this machine, or `false`. */
  readonly missing?: string | false;
  measure(): Promise<readonly Table[]>;
}

const LIMITERS = ['rate-limiter-flexible', 'express-rate-limit', '@fastify/rate-limit', 'hono-rate-limiter'];
const FRAMEWORKS = ['express', 'fastify', 'hono', '@hono/node-server', 'koa', '@koa/router', 'h3'];
const PARTS: readonly Part[] = [
  { name: 'limiter', packages: [...LIMITERS, 'limiter'], measure: limiters },
  { name: 'respond', measure: async () => [await respond()] },
  { name: 'loopback', packages: [...FRAMEWORKS, ...LIMITERS], missing: missingWrk, measure: loopback },
  {
    name: 'program',
    packages: ['fastify', 'pino', 'better-sqlite3', 'rate-limiter-flexible'],
    missing: missingWrk,
    measure: async () => [await program()],
  },
  { name: 'cancels', measure: async () => [await cancelsInProcess(), await cancelsOverHttp()] },
  { name: 'import', missing: missingSqlite3, measure: async () => [await imports()] },
  { name: 'start', measure: async () => [await start()] },
  { name: 'lists', measure: async () => [await longLists(), await besideLists()] },
  { name: 'redis', packages: ['rate-limiter-flexible'], missing: missingRedis, measure: async () => [await redis()] },
  { name: 'postgres', missing: missingEngine, measure: postgres },
  { name: 'writers', missing: missingEngine, measure: async () => [await writers()] },
  {
    name: 'shared',
    packages: ['fastify', 'rate-limiter-flexible'],
    missing: missingRedis || missingEngine || missingWrk,
    measure: async () => [await shared()],
  },
  {
    name: 'stored-lists',
    packages: ['fastify', 'rate-limiter-flexible'],
    missing: missingEngine || missingWrk,
    measure: async () => [await storedLists()],
  },
];

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const unknown = words[0] === 'against' ? undefined : words.find((word) => !PARTS.some(({ name }) => name === word));
if (unknown !== undefined) throw new TypeError(`${unknown}: expected ${PARTS.map(({ name }) => name).join(', ')}`);

if (process.argv.includes('--page')) writePage();
else if (words[0] === 'against') console.log(printTable(await against(resolve(words[1] ?? '.'))));
else await measureParts(PARTS.filter(({ name }) => words.length === 0 || words.includes(name)));

async function measureParts(parts: readonly Part[]): Promise<void> {
  for (const { name, packages = [], missing = false, measure } of parts) {
    if (missing !== false) {
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
}
