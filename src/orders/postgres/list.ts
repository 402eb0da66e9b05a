import { type PostgresClient, type PostgresPool, queryOften } from '../../databases/postgres/client.js';
import { createSnapshotReader, type SnapshotReader } from '../../databases/postgres/snapshots.js';
import { escapeNonAscii, parseJsonArray } from '../json.js';
import { INT64_MAX, INT64_MIN, type Order, type OrderId } from '../order.js';
import type { ListedOrders } from '../store.js';
import { createGrouping } from './grouping.js';
import { type OrderTable, readOrder } from './table.js';

/** Rows serialised in one go: about 200 KB and 3 ms of the server. */
const PAGE = 2_000;

/**
 * Creates a function that lists the orders of a table. Fewer than a page are returned as a frozen
 * array, the same one as long as a new query returns the same text. A longer list is streamed page
 * by page from one snapshot on a connection of its own, and not cached: a copy would cost its size
 * in memory, and a query of all rows to validate it. If the pool cannot hold a connection, the
 * array has all orders. Concurrent calls share the first query, which is sent after all of them.
 */
export function createLister(pool: PostgresPool, table: OrderTable): () => Promise<ListedOrders> {
  const connect = pool.connect?.bind(pool);
  const readSnapshot = connect && createSnapshotReader(connect);
  const readPage = pageReader(table, readSnapshot === undefined ? 'ALL' : PAGE);
  let expected = 0;
  let remembered: { readonly text: string; readonly orders: readonly Order[] } | undefined;

  async function readFirst(): Promise<() => ListedOrders> {
    const { text, count, last } = await readPage(pool, INT64_MIN, expected);
    expected = count;
    if (last !== undefined && readSnapshot !== undefined) return () => readTexts(readSnapshot, table);
    if (remembered?.text !== text) remembered = { text, orders: parseOrders(text) };
    const { orders } = remembered;
    return () => orders;
  }

  const group = createGrouping<(first: ReturnType<typeof readFirst>) => void>(Infinity, (callers) => {
    const first = readFirst();
    for (const resolve of callers) resolve(first);
    return first;
  });

  return async () => {
    const list = await new Promise<() => ListedOrders>(group);
    return list();
  };
}

type ListedTable = Pick<OrderTable, 'table' | 'id' | 'json'>;

/** Yields the orders' JSON texts page by page, from one snapshot. */
export function readTexts(readSnapshot: SnapshotReader, table: ListedTable): AsyncGenerator<string> {
  return readSnapshot((client) => pages(client, pageReader(table, PAGE)));
}

async function* pages(client: PostgresClient, readPage: PageReader): AsyncGenerator<string> {
  let first = INT64_MIN;
  for (;;) {
    const { text, last } = await readPage(client, first);
    if (text !== '') yield text;
    if (last === undefined || last === INT64_MAX) return;
    first = last + 1n;
  }
}

interface Page {
  /** The orders' JSON texts separated by commas, serialised by the server. See README.md. */
  readonly text: string;
  /** The id of the last order of a full page, after which there may be more. */
  readonly last: OrderId | undefined;
  readonly count: number;
}

type PageReader = (client: PostgresClient, first: OrderId, expected?: number) => Promise<Page>;

function pageReader({ table, id, json }: ListedTable, limit: number | 'ALL'): PageReader {
  // Nothing but the aggregation is above the sorted rows, so it receives them in their order.
  const statement = `SELECT count(*)::text AS count, max(id)::int8::text AS last, string_agg(json, ',') AS text FROM (
      SELECT o.${id} AS id, ${json} AS json FROM ${table} AS o
      WHERE o.${id} >= $1::text::int8 ORDER BY o.${id} LIMIT ${limit}) AS page`;

  /**
   * The statement is prepared for the expected number of rows. A plan for a few rows would sort the
   * whole table once it has grown.
   */
  function ask(client: PostgresClient, first: OrderId, expected: number) {
    if (expected >= PAGE) return client.query(statement, [`${first}`]);
    return queryOften(client, `${statement} -- below ${2 ** (32 - Math.clz32(expected))}`, [`${first}`]);
  }

  return async (client, first, expected = PAGE) => {
    const [row] = (await ask(client, first, expected)).rows;
    const count = Number(row?.['count']);
    const isFull = count === limit;
    return {
      count,
      text: escapeNonAscii(String(row?.['text'] ?? '')),
      last: isFull ? BigInt(String(row?.['last'])) : undefined,
    };
  };
}

function parseOrders(text: string): readonly Order[] {
  return Object.freeze(Array.from(parseJsonArray(`[${text}]`), ({ value }) => readOrder(Object(value))));
}
