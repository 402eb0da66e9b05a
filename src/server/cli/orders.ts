import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { type OrderId, parseOrderId, type ShipOutcome } from '../../orders/index.js';
import { printOrder } from '../../orders/json.js';
import type { OrderRecord } from '../../orders/record.js';
import { writeText } from '../log/write-text.js';
import type { Storage } from '../storage/storage.js';
import {
  type Command,
  DATA_OPTIONS,
  done,
  failed,
  type Invocation,
  misused,
  type Outcome,
  withStorage,
} from './command.js';
import { type ReadOrders, readOrders } from './order-reader.js';
import { createProgressBar } from './progress.js';

export const orderCommands: readonly Command[] = [
  {
    name: 'orders import',
    summary: 'Stores orders from one JSON object a line, or from a JSON array: all of them, or none if one is bad.',
    operands: ['FILE|-'],
    options: { ...DATA_OPTIONS, replace: { about: 'overwrite orders that exist, status included' } },
    run: importOrders,
  },
  {
    name: 'orders export',
    summary: 'Writes all orders with their status, one JSON object a line; with --json one array.',
    operands: [],
    options: DATA_OPTIONS,
    run: (invocation) => withStorage(invocation, (data) => exportOrders(data, invocation.flags.has('json'))),
  },
  {
    name: 'orders show',
    summary: 'Shows one order with its status.',
    operands: ['ORDER_ID'],
    options: DATA_OPTIONS,
    run: (invocation) => withOrderId(invocation, showOrder),
  },
  {
    name: 'orders ship',
    summary: 'Marks a pending order as shipped.',
    operands: ['ORDER_ID'],
    options: DATA_OPTIONS,
    run: (invocation) => withOrderId(invocation, shipOrder),
  },
];

async function importOrders(invocation: Invocation): Promise<Outcome> {
  const [file = '-'] = invocation.operands;
  const name = file === '-' ? 'stdin' : file;
  let bytes: Buffer;
  try {
    bytes = file === '-' ? await buffer(process.stdin) : await readFile(file);
  } catch {
    return failed(`${name} cannot be read; check that the file exists`);
  }
  const bar = createProgressBar(process.stderr, 'importing');
  const read = readOrders(bytes, bar.show);
  try {
    if (!read.ok) return failed(`${name}:${read.line}: ${read.message}; nothing was imported`);
    return await withStorage(invocation, (data) => store(data, read, name, invocation.flags.has('replace')), {
      create: true,
    });
  } finally {
    bar.clear();
  }
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
    return failed(`${where}: id ${stored.id} is stored already, --replace overwrites it; nothing was imported`);
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

async function exportOrders({ records }: Storage, asArray: boolean): Promise<Outcome> {
  let mark = asArray ? '[' : '';
  const between = asArray ? ',\n' : '\n';
  for await (const batch of records()) {
    if (!(await writeText(process.stdout, mark + batch.map(printRecord).join(between)))) return { outcome: 'done' };
    mark = between;
  }
  if (asArray) await writeText(process.stdout, mark === '[' ? '[]\n' : ']\n');
  else if (mark !== '') await writeText(process.stdout, '\n');
  return { outcome: 'done' };
}

/** The order as it is exported: the wire fields, then the status, which is a lower-case word. */
function printRecord(record: OrderRecord): string {
  return `${printOrder(record).slice(0, -1)},"status":"${record.status}"}`;
}

function withOrderId(
  invocation: Invocation,
  work: (data: Storage, id: OrderId) => Outcome | Promise<Outcome>,
): Outcome | Promise<Outcome> {
  const [text = ''] = invocation.operands;
  const id = parseOrderId(text);
  if (id === undefined)
    return misused(`ORDER_ID: expected an int64 in plain decimal form, not ${JSON.stringify(text)}`);
  return withStorage(invocation, (data) => work(data, id));
}

async function showOrder({ orders }: Storage, id: OrderId): Promise<Outcome> {
  const record = await orders.get(id);
  if (record === undefined) return failed(`there is no order ${id}`);
  const rows = Object.entries(record).map(([field, value]) => `${field.padEnd(8)}  ${value}`);
  return { outcome: 'done', text: rows.join('\n'), json: printRecord(record) };
}

const SHIP_FAILURES: Readonly<Record<Exclude<ShipOutcome, 'shipped'>, string>> = {
  already_shipped: 'has shipped already',
  already_cancelled: 'is cancelled, it cannot be shipped',
  not_pending: 'is not pending, only a pending order can be shipped',
  not_found: 'does not exist',
};

async function shipOrder({ orders }: Storage, id: OrderId): Promise<Outcome> {
  const outcome = await orders.ship(id);
  if (outcome !== 'shipped') return failed(`order ${id} ${SHIP_FAILURES[outcome]}`);
  return { outcome: 'done', text: `order ${id} is shipped`, json: `{"id":${id},"status":"shipped"}` };
}
