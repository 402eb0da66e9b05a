import { nameStatement, type PostgresClient, type PostgresPool } from '../../databases/postgres/client.js';
import { createSnapshotReader, type SnapshotReader } from '../../databases/postgres/list-connections.js';
import { createGrouping } from '../grouping.js';
import { escapeNonAscii, parseJsonArray } from '../json.js';
import { INT64_MAX, INT64_MIN, type Order, type OrderId } from '../order.js';
import type { OrderRecord } from '../record.js';
import { type ListedOrders, type OrderArray, withVersion } from '../store.js';
import { type OrderTable, OWN_TABLE, readOrder } from './table.js';

/** The number of orders in a page. A page has about 200 KB and takes the server about 3 ms. */
const PAGE = 2_000;

/**
 * Creates a function that lists the orders of a table. Concurrent calls share one query of the
 * first page. The query is sent after all of these calls were made, so that none of them receives
 * an older list.
 *
 * A list that is shorter than a page is returned as an array, whose version is the text that the
 * query returned. A longer list is streamed page by page, from one snapshot on a connection of its
 * own. It is not cached, because checking whether a copy is current would query all rows. If the
 * pool has no `connect`, every list is an array.
 */
export function createTableLister(pool: PostgresPool, table: OrderTable): () => Promise<ListedOrders> {
  const readSnapshot = pool.connect && createSnapshotReader(pool.connect.bind(pool));
  const limit = readSnapshot === undefined ? 'ALL' : PAGE;
  let isKnownAsShort = false;
  let shortList: OrderArray | undefined;

  async function readFirstPage(): Promise<() => ListedOrders> {
    // A statement that was prepared for a few rows would sort the whole table after it has grown.
    const isPrepared = isKnownAsShort;
    isKnownAsShort = false;
    const { text, last } = await readPage(pool, table, INT64_MIN, limit, isPrepared);
    isKnownAsShort = last === undefined;
    if (last !== undefined && readSnapshot !== undefined) return () => readTexts(readSnapshot, table);
    if (shortList?.version !== text) shortList = withVersion(parseOrders(text), text);
    const orders = shortList;
    return () => orders;
  }

  const group = createGrouping<(page: ReturnType<typeof readFirstPage>) => void>(Infinity, (callers) => {
    const page = readFirstPage();
    for (const resolve of callers) resolve(page);
    return page;
  });

  return async () => {
    const list = await new Promise<() => ListedOrders>(group);
    return list();
  };
}

function parseOrders(text: string): Order[] {
  return Array.from(parseJsonArray(`[${text}]`), ({ value }) => readOrder(Object(value)));
}

type ListedTable = Pick<OrderTable, 'table' | 'id' | 'json'>;

/** Yields the orders' JSON texts page by page, from one snapshot. */
function readTexts(readSnapshot: SnapshotReader, table: ListedTable): AsyncGenerator<string> {
  return readSnapshot(async function* (client) {
    for (let first = INT64_MIN; ; ) {
      const { text, last } = await readPage(client, table, first, PAGE);
      if (text !== '') yield text;
      if (last === undefined || last === INT64_MAX) return;
      first = last + 1n;
    }
  });
}

interface Page {
  /** The orders' JSON texts, separated by commas. README.md says why PostgreSQL serialises them. */
  readonly text: string;
  /** The id of the last order of a full page, after which more orders may follow. */
  readonly last: OrderId | undefined;
}

async function readPage(
  client: PostgresClient,
  { table, id, json }: ListedTable,
  first: OrderId,
  limit: number | 'ALL',
  isPrepared = false,
): Promise<Page> {
  // `string_agg` reads directly from the sorted subquery, so it keeps the sequence.
  const text = `SELECT count(*)::text AS count, max(id)::int8::text AS last, string_agg(json, ',') AS text FROM (
      SELECT o.${id} AS id, ${json} AS json FROM ${table} AS o
      WHERE o.${id} >= $1::text::int8 ORDER BY o.${id} LIMIT ${limit}) AS page`;
  const { rows } = await client.query({ ...(isPrepared ? nameStatement(text) : { text }), values: [`${first}`] });
  const [page] = rows;
  return {
    text: escapeNonAscii(String(page?.['text'] ?? '')),
    last: Number(page?.['count']) === limit ? BigInt(String(page?.['last'])) : undefined,
  };
}

/** Yields all records of the store's own table in pages, ascending by id, from one snapshot. */
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
