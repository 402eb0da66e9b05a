import { type PostgresClient, type PostgresPool, queryOften } from '../../databases/postgres/client.js';
import { createSnapshotReader, type SnapshotReader } from '../../databases/postgres/list-connections.js';
import { createGrouping } from '../grouping.js';
import { escapeNonAscii, parseJsonArray } from '../json.js';
import { INT64_MAX, INT64_MIN, type Order, type OrderId } from '../order.js';
import type { ListedOrders } from '../store.js';
import { type OrderTable, readOrder } from './table.js';

/** The number of orders in a page. A page has about 200 KB and takes the server about 3 ms. */
const PAGE = 2_000;

/**
 * Creates a function that lists the orders of a table. Concurrent calls share one query of the
 * first page. The query is sent after all of these calls were made, so that none of them receives
 * an older list.
 *
 * A list that is shorter than a page is returned as a frozen array. As long as the query returns
 * the same text, this is the same array. A longer list is streamed page by page, from one snapshot
 * on a connection of its own. It is not cached: a copy would take as much memory as the list, and
 * checking whether the copy is current would query all rows. If the pool has no `connect`, every
 * list is an array.
 */
export function createTableLister(pool: PostgresPool, table: OrderTable): () => Promise<ListedOrders> {
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
  /**
   * The orders' JSON texts, separated by commas. PostgreSQL serialises the orders, because that is
   * faster: README.md in this folder has the measurements.
   */
  readonly text: string;
  /**
   * If the page is full, the id of its last order, because more orders may follow. Otherwise
   * `undefined`.
   */
  readonly last: OrderId | undefined;
  readonly count: number;
}

type PageReader = (client: PostgresClient, first: OrderId, expected?: number) => Promise<Page>;

function pageReader({ table, id, json }: ListedTable, limit: number | 'ALL'): PageReader {
  // The aggregation reads directly from the sorted subquery, so it receives the rows in that
  // sequence.
  const statement = `SELECT count(*)::text AS count, max(id)::int8::text AS last, string_agg(json, ',') AS text FROM (
      SELECT o.${id} AS id, ${json} AS json FROM ${table} AS o
      WHERE o.${id} >= $1::text::int8 ORDER BY o.${id} LIMIT ${limit}) AS page`;

  /**
   * Prepares the statement again whenever the expected number of rows has doubled. PostgreSQL keeps
   * the query plan of a prepared statement. A plan made for a few rows would sort the whole table
   * even after the table has grown.
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
