import { ORDER_FIELDS, serializeRecord } from '../../orders/exact-json.js';
import { FIELD_NAMES, FIELDS } from '../../orders/fields.js';
import {
  type CancelOutcome,
  type OrderId,
  type OrderRecord,
  parseOrderId,
  type ShipOutcome,
} from '../../orders/index.js';
import { type CommandResult, failed, Misuse } from '../command-result.js';
import { printable } from '../printable.js';
import type { Storage } from '../storage/storage.js';
import type { Command, Invocation } from './command.js';
import { exportOrders, importOrders, jsonTexts, print, type Records } from './import-export.js';
import { createTable } from './table.js';
import { STORAGE_OPTIONS, withStorage } from './with-storage.js';

export const orderCommands: readonly Command[] = [
  {
    name: 'orders import',
    summary:
      'Imports orders from a file: one JSON object per line, one JSON array, or CSV. If one is invalid, none is imported. CSV may be as pandas or a spreadsheet writes it: column names in any letter case, TRUE, 5.0 for 5 up to 2^53-1, and blank rows. In JSON, null is an absent field. A date-time needs an offset, and is stored as RFC 3339: +0000 becomes +00:00, a space becomes T. Only pending orders can be cancelled or shipped, so a status such as placed is refused, unless --statuses has it.',
    operand: 'FILE|-',
    options: {
      ...STORAGE_OPTIONS,
      format: { value: 'FORMAT', about: 'json or csv [default: csv if FILE ends in .csv or .CSV, else json]' },
      replace: { about: 'overwrite existing orders and their status' },
      statuses: { value: 'LIST', about: 'more statuses to accept as they are, such as returned,on_hold' },
    },
    examples: ['orders import orders.ndjson', 'orders import - --replace < orders.json'],
    run: importOrders,
  },
  {
    name: 'orders list',
    summary: 'Lists all orders with their status, as a table.',
    options: { status: { value: 'STATUS', about: 'list only orders with this status' }, ...STORAGE_OPTIONS },
    examples: ['orders list', 'orders list --status pending'],
    run: (invocation) => withStorage(invocation, (storage) => listOrders(storage, invocation)),
  },
  {
    name: 'orders export',
    summary: 'Writes all orders with their status: one JSON object per line, or CSV. With --json, one array.',
    options: { format: { value: 'FORMAT', about: 'json or csv', default: 'json' }, ...STORAGE_OPTIONS },
    examples: ['orders export > orders.ndjson', 'orders export --format csv > orders.csv'],
    run: exportOrders,
  },
  {
    name: 'orders show',
    summary: 'Shows one order with its status.',
    operand: 'ORDER_ID',
    options: STORAGE_OPTIONS,
    examples: ['orders show 9007199254740993', 'orders show -- -5'],
    run: (invocation) => withOrderId(invocation, showOrder),
  },
  {
    name: 'orders cancel',
    summary: 'Cancels a pending order, as a client would.',
    operand: 'ORDER_ID',
    options: STORAGE_OPTIONS,
    examples: ['orders cancel 7'],
    run: (invocation) =>
      withOrderId(invocation, async ({ orders }, id) => transitionResult(id, 'cancelled', await orders.cancel(id))),
  },
  {
    name: 'orders ship',
    summary: 'Marks a pending order as shipped.',
    operand: 'ORDER_ID',
    options: STORAGE_OPTIONS,
    examples: ['orders ship 7'],
    run: (invocation) =>
      withOrderId(invocation, async ({ orders }, id) => transitionResult(id, 'shipped', await orders.ship(id))),
  },
];

function listOrders({ records }: Storage, { flags, wantsJson }: Invocation): Promise<CommandResult> {
  const status = flags.get('status');
  const [chosen, emptyText] =
    typeof status === 'string'
      ? [withStatus(records(), status), `no orders with the status ${JSON.stringify(status)}`]
      : [records(), 'no orders'];
  return print(wantsJson ? jsonTexts(chosen, true) : tableTexts(chosen, emptyText));
}

async function* tableTexts(records: Records, emptyText: string): AsyncGenerator<string> {
  const titleOf = (name: keyof typeof FIELDS) => FIELDS[name].column.replace('_', ' ').toUpperCase();
  const numbers = FIELD_NAMES.filter((name) => FIELDS[name].type.sqlType === 'bigint');
  const table = createTable([...FIELD_NAMES.map(titleOf), 'STATUS'], numbers.map(titleOf));
  let isEmpty = true;
  for await (const batch of records) {
    isEmpty = false;
    const rows = batch.map((record) => ORDER_FIELDS.map((name) => String(record[name] ?? '')));
    yield `${table(rows).join('\n')}\n`;
  }
  if (isEmpty) yield `${emptyText}\n`;
}

async function* withStatus(records: Records, status: string): AsyncGenerator<readonly OrderRecord[]> {
  for await (const batch of records) {
    const chosen = batch.filter((record) => record.status === status);
    if (chosen.length > 0) yield chosen;
  }
}

function withOrderId(
  invocation: Invocation,
  work: (storage: Storage, id: OrderId) => Promise<CommandResult>,
): Promise<CommandResult> {
  const { operand: text } = invocation;
  const id = parseOrderId(text);
  if (id === undefined) {
    throw new Misuse(`ORDER_ID: expected a decimal int64, such as 7, not ${JSON.stringify(text)}`);
  }
  return withStorage(invocation, (storage) => work(storage, id));
}

async function showOrder({ orders }: Storage, id: OrderId): Promise<CommandResult> {
  const record = await orders.get(id);
  if (record === undefined) return failed(`the order ${id} does not exist`);
  const rows = Object.entries(record).map(([field, value]) => `${field.padEnd(8)}  ${printable(`${value}`)}`);
  return { exitCode: 0, text: rows.join('\n'), json: serializeRecord(record) };
}

const REFUSAL_TEXTS = {
  already_shipped: 'has already shipped',
  already_cancelled: 'is already cancelled',
  not_pending: 'is not pending',
  not_found: 'does not exist',
} as const satisfies Readonly<Record<Exclude<CancelOutcome, 'cancelled'> & Exclude<ShipOutcome, 'shipped'>, string>>;

function transitionResult(
  id: OrderId,
  status: 'cancelled' | 'shipped',
  outcome: CancelOutcome | ShipOutcome,
): CommandResult {
  if (outcome !== 'cancelled' && outcome !== 'shipped') {
    const rule = outcome === 'not_found' ? '' : `; only a pending order can be ${status}`;
    return failed(`the order ${id} ${REFUSAL_TEXTS[outcome]}${rule}`);
  }
  return { exitCode: 0, text: `the order ${id} is ${status}`, json: `{"id":${id},"status":"${status}"}` };
}
