import { fileURLToPath } from 'node:url';
import { CANCEL, LIST, type LoadRequest, loadWarm, MISS, refill } from '../load/load.js';
import { type Child, startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { API_KEY, SPENT_KEY } from '../servers/orders.js';
import { openReader, readFor } from './list-reader.js';

const HERE = fileURLToPath(new URL('../..', import.meta.url));
const CONNECTIONS = 32;
const READERS = 8;
const ROUNDS = 10;
const LIST_MS = isQuick ? 1 : 1_500;
const COUNTS = isQuick ? [1_000] : [100_000, 1_000_000];

const REQUESTS = [
  { request: LIST },
  { request: MISS },
  { request: { ...LIST, name: 'GET with an invalid key, 401', status: 401 }, apiKey: 'nobody' },
  { request: { ...LIST, name: 'GET over the quota, 429', status: 429 }, apiKey: SPENT_KEY },
  { request: CANCEL },
];

interface Measured {
  readonly perSecond: number;
  readonly usedUs: number;
}

/**
 * Compares the built version of this directory with the one of another directory. The same server
 * runs over each, and the two are measured in turns.
 */
export async function against(directory: string): Promise<Table> {
  const start = (...count: string[]) =>
    Promise.all([HERE, directory].map((place) => startServer('against', place, ...count)));
  const rows: string[][] = [];
  const servers = await start();
  for (const { request, apiKey = API_KEY } of REQUESTS) {
    const measure = (server: Child) => loadWarm({ server: { ...server, apiKey }, request, connections: CONNECTIONS });
    rows.push([request.name, ...(await compare(servers, request, measure))]);
  }
  for (const { stop } of servers) stop();
  for (const count of COUNTS) {
    const longer = await start(`${count}`);
    rows.push([`GET, ${whole(count)} orders`, ...(await compare(longer, LIST, readLists))]);
    for (const { stop } of longer) stop();
  }
  return {
    title: `This version beside the one in ${directory}: a greater ratio is better (least–most)`,
    head: ['request', 'a second', 'there', 'µs of processor time', 'there', 'ratio', 'ratio by processor time'],
    headlines: [6],
    rows,
  };
}

async function compare(
  servers: readonly Child[],
  request: LoadRequest,
  measure: (server: Child) => Promise<Measured>,
): Promise<readonly string[]> {
  const figures = servers.map((server) => ({ server, rates: [] as number[], usedUs: [] as number[] }));
  // The first round is a warm-up. Its figures are not used.
  for (let round = isQuick ? 1 : 0; round <= rounds(ROUNDS); round++) {
    await refill(servers, request);
    for (const { server, rates, usedUs } of round % 2 === 0 ? figures : figures.toReversed()) {
      const measured = await measure(server);
      if (round === 0) continue;
      rates.push(measured.perSecond);
      usedUs.push(measured.usedUs);
    }
  }
  const [here = { rates: [], usedUs: [] }, there = { rates: [], usedUs: [] }] = figures;
  const medians = [here.rates, there.rates, here.usedUs, there.usedUs].map((values) => whole(median(values)));
  return [...medians, ratio(here.rates, there.rates), ratio(there.usedUs, here.usedUs)];
}

async function readLists(server: Child): Promise<Measured> {
  const readers = await Promise.all(Array.from({ length: READERS }, () => openReader(server.url)));
  const [startMs, fromUs] = [performance.now(), server.cpuUs()];
  const counts = await Promise.all(readers.map((reader) => readFor(reader, LIST_MS)));
  const lists = counts.reduce((sum, count) => sum + count, 0);
  const measured = {
    perSecond: (lists * 1_000) / (performance.now() - startMs),
    usedUs: (server.cpuUs() - fromUs) / lists,
  };
  for (const { socket } of readers) socket.destroy();
  return measured;
}
