import type { PostgresPool } from '../../databases/postgres/client.js';
import { createSnapshotReader } from '../../databases/postgres/list-connections.js';
import { parseJsonArray } from '../json.js';
import type { OrderRecord } from '../record.js';
import { readTexts } from './list.js';
import { OWN_TABLE } from './own-table.js';
import { readOrder } from './table.js';

/**
 * Yields all orders of the store's own table with their statuses, in ascending order of ids. They
 * are read page by page from one snapshot.
 */
export async function* readRecords(
  connect: NonNullable<PostgresPool['connect']>,
): AsyncGenerator<readonly OrderRecord[]> {
  const json = `left(${OWN_TABLE.json}, -1) || ',"status":' || to_json(o.status) || '}'`;
  for await (const text of readTexts(createSnapshotReader(connect), { ...OWN_TABLE, json })) {
    yield Array.from(parseJsonArray(`[${text}]`), ({ value }) => readRecord(Object(value)));
  }
}

function readRecord(value: Readonly<Record<string, unknown>>): OrderRecord {
  return { ...readOrder(value), status: String(value['status']) };
}
