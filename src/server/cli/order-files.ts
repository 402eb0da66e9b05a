import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { printOrder } from '../../orders/json.js';
import type { OrderRecord } from '../../orders/record.js';
import { writeText } from '../log/write-text.js';
import { done, failed, misused, type Outcome } from '../outcome.js';
import type { Storage } from '../storage/storage.js';
import type { Invocation } from './command.js';
import { CSV_HEAD, printCsvRow } from './order-csv.js';
import { type ReadOrders, readOrders } from './order-reader.js';
import { createProgressBar } from './terminal.js';
import { withStorage } from './with-storage.js';

/** Orders in batches, none of them empty. */
export type Records = ReturnType<Storage['records']>;

export async function importOrders(invocation: Invocation): Promise<Outcome> {
  const [file = '-'] = invocation.operands;
  const statuses = readStatuses(invocation);
  if (statuses === undefined) {
    const given = JSON.stringify(invocation.flags.get('statuses'));
    return misused(`--statuses: expected lower-case words separated by commas, such as returned,on_hold, not ${given}`);
  }
  const format = invocation.flags.get('format') ?? (file.endsWith('.csv') ? 'csv' : 'json');
  if (!isFormat(format)) return misused(unknownFormat(format));
  const name = file === '-' ? 'stdin' : file;
  let bytes: Buffer;
  try {
    bytes = file === '-' ? await buffer(process.stdin) : await readFile(file);
  } catch {
    return failed(`cannot read ${name}; check that the file exists`);
  }
  const bar = createProgressBar(process.stderr, 'importing');
  const read = readOrders(bytes, format, statuses, bar.show);
  try {
    if (!read.ok) return failed(`${name}:${read.line}: ${read.message}; nothing was imported`);
    return await withStorage(invocation, (data) => store(data, read, name, invocation.flags.has('replace')), {
      create: true,
    });
  } finally {
    bar.clear();
  }
}

/** Returns `undefined` for a list that is not valid. */
function readStatuses({ flags }: Invocation): readonly string[] | undefined {
  const list = flags.get('statuses');
  if (typeof list !== 'string') return [];
  const statuses = list.split(',');
  return statuses.every((status) => /^[a-z][a-z0-9_]{0,63}$/.test(status)) ? statuses : undefined;
}

async function store(
  { orders }: Storage,
  { records, lines }: Extract<ReadOrders, { ok: true }>,
  name: string,
  replace: boolean,
): Promise<Outcome> {
  const stored = await orders.put(records, { replace });
  if (stored.outcome === 'exists') {
    const where = `${name}:${lines.get(stored.id)}`;
    return failed(
      `${where}: the id ${stored.id} is already stored; use --replace to overwrite it; nothing was imported`,
    );
  }
  const byStatus = countByStatus(records);
  const counts = Object.entries(byStatus).map(([status, count]) => `${count} ${status}`);
  return done(
    `${records.length} ${records.length === 1 ? 'order' : 'orders'} imported${counts.length === 0 ? '' : ': '}${counts.join(', ')}`,
    { imported: records.length, byStatus },
  );
}

function countByStatus(records: readonly OrderRecord[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { status } of records) counts.set(status, (counts.get(status) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function exportOrders(invocation: Invocation): Outcome | Promise<Outcome> {
  const { flags } = invocation;
  const format = flags.get('format');
  if (!isFormat(format)) return misused(unknownFormat(format));
  return withStorage(invocation, ({ records }) =>
    format === 'csv' ? exportCsv(records()) : exportJson(records(), flags.has('json')),
  );
}

function isFormat(text: unknown): text is 'json' | 'csv' {
  return text === 'json' || text === 'csv';
}

function unknownFormat(text: unknown): string {
  return `--format: expected json or csv, not ${JSON.stringify(text)}`;
}

async function exportCsv(records: Records): Promise<Outcome> {
  let text = `${CSV_HEAD}\n`;
  for await (const batch of records) {
    text += batch.map((record) => `${printCsvRow(record)}\n`).join('');
    if (!(await writeText(process.stdout, text))) return { outcome: 'done' };
    text = '';
  }
  await writeText(process.stdout, text);
  return { outcome: 'done' };
}

export async function exportJson(records: Records, asArray: boolean): Promise<Outcome> {
  let mark = asArray ? '[' : '';
  const between = asArray ? ',\n' : '\n';
  for await (const batch of records) {
    if (!(await writeText(process.stdout, mark + batch.map(printRecord).join(between)))) return { outcome: 'done' };
    mark = between;
  }
  if (asArray) await writeText(process.stdout, mark === '[' ? '[]\n' : ']\n');
  else if (mark !== '') await writeText(process.stdout, '\n');
  return { outcome: 'done' };
}

/** Prints an order as exported: the wire fields and the status, which is a lower-case word. */
export function printRecord(record: OrderRecord): string {
  return `${printOrder(record).slice(0, -1)},"status":"${record.status}"}`;
}
