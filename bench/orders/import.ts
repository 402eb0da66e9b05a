import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MAIN } from '../../test/program/support/run.js';
import { without } from '../../test/support/installed.js';
import { temporaryDirectory } from '../../test/support/temporary-file.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { manyOrders } from '../servers/orders.js';

const ORDERS = isQuick ? 1_000 : 1_000_000;
const ROUNDS = 3;
const FIELDS = ['id', 'petId', 'quantity', 'shipDate', 'complete', 'status'] as const;
/**
 * The SQL that prepares a file for `sqlite3`. The file has the same table, and the same settings
 * for durable writes, as the program's own files.
 */
const PREPARE = `PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE orders (
  id INTEGER PRIMARY KEY, pet_id INTEGER, quantity INTEGER, ship_date TEXT, complete INTEGER, status TEXT NOT NULL) STRICT;
`;

/** The reason why this cannot be measured here, or `false`. */
export const missingSqlite3 = without('sqlite3');

/**
 * Measures imports into a new file, and compares them with an import of the same orders by
 * `sqlite3`.
 */
export async function imports(): Promise<Table> {
  const directory = temporaryDirectory();
  const orders = manyOrders(ORDERS).list();
  const texts = orders.map((order) => FIELDS.map((field) => (field === 'status' ? 'pending' : `${order[field]}`)));
  writeFileSync(join(directory, 'orders.csv'), [FIELDS, ...texts].map((cells) => `${cells.join(',')}\n`).join(''));
  const printed = texts.map(
    ([id, pet, quantity, date, complete]) =>
      `{"id":${id},"petId":${pet},"quantity":${quantity},"shipDate":"${date}","complete":${complete},"status":"pending"}\n`,
  );
  writeFileSync(join(directory, 'orders.ndjson'), printed.join(''));
  // A STRICT table of SQLite stores booleans as the integers 1 and 0.
  const rows = texts.map(([id, pet, quantity, date, complete, status]) => {
    return `${[id, pet, quantity, date, complete === 'true' ? 1 : 0, status].join(',')}\n`;
  });
  writeFileSync(join(directory, 'rows.csv'), rows.join(''));
  const copy = `${PREPARE}.mode csv\n.import rows.csv orders\n`;
  const ways: readonly (readonly [name: string, command: string, args: readonly string[], input?: string])[] = [
    ['`sqlite3`, `.import` of CSV', 'sqlite3', ['new.db'], copy],
    ['`orders import`, NDJSON', process.execPath, [MAIN, 'orders', 'import', '--db', 'new.db', 'orders.ndjson']],
    ['`orders import`, CSV', process.execPath, [MAIN, 'orders', 'import', '--db', 'new.db', 'orders.csv']],
  ];
  const figures = ways.map(() => ({ seconds: [] as number[], cores: [] as number[] }));
  for (let round = 0; round < rounds(ROUNDS); round++) {
    for (const [index, [name, command, args, input]] of ways.entries()) {
      for (const suffix of ['', '-wal', '-shm']) rmSync(join(directory, `new.db${suffix}`), { force: true });
      const [startMs, before] = [performance.now(), childSeconds()];
      const { status } = spawnSync(command, args, { cwd: directory, input });
      if (status !== 0) throw new Error(`${name}: exit code ${status}`);
      figures[index]?.seconds.push((performance.now() - startMs) / 1_000);
      figures[index]?.cores.push(childSeconds() - before);
    }
  }
  const [floor = { seconds: [], cores: [] }] = figures;
  return {
    title: `Import of ${whole(ORDERS)} orders into a new SQLite file`,
    head: [
      'way',
      'seconds',
      'ratio to `sqlite3` (least–most)',
      'seconds of processor time',
      'processor time, ratio to `sqlite3`',
    ],
    headlines: [2],
    rows: figures.map(({ seconds, cores }, index) => [
      ways[index]?.[0] ?? '',
      median(seconds).toFixed(1),
      ratio(seconds, floor.seconds),
      median(cores).toFixed(1),
      ratio(cores, floor.cores),
    ]),
  };
}

const TICKS_A_SECOND = 100;

/**
 * Returns the processor time of all child processes that have ended, in seconds, or `NaN` if the
 * system does not report it. The source is `/proc/self/stat`, see proc(5).
 */
function childSeconds(): number {
  if (!existsSync('/proc/self/stat')) return Number.NaN;
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[13]) + Number(fields[14])) / TICKS_A_SECOND;
}
