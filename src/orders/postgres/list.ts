import {
  type Connect,
  codeOf,
  nameStatement,
  type PostgresClient,
  type PostgresPool,
} from '../../databases/postgres/client.js';
import { LIFT_TIMEOUTS } from '../../databases/postgres/transaction.js';
import { messageOf } from '../../message-of.js';
import { escapeNonAscii, parseJsonArray } from '../json.js';
import { createNewestList } from '../newest-list.js';
import { INT64_MAX, type OrderId } from '../order.js';
import type { OrderRecord } from '../record.js';
import type { OrderPages } from '../store.js';
import { createSnapshotReader } from './list-connections.js';
import { OWN_TABLE } from './own-table.js';
import { type OrderTable, readOrder } from './table.js';

/** The class of SQLSTATE codes of a value that cannot be converted. */
const DATA_EXCEPTION = '22';
/** The number of orders in a page. A page has about 200 KB and takes the server about 3 ms. */
const PAGE = 2_000;

/**
 * Creates the list of a table. With a `revision`, its pages have a version, and are read once for
 * each change. Without one, each call reads the first page. If that is the whole list, its text is
 * its version. Otherwise the list is read for each client, and has no version. Calls `noteNull` when
 * the revision is NULL or missing.
 */
export function createTableList(pool: PostgresPool, table: OrderTable, noteNull = () => {}) {
  const readPages = createPageReader(pool, table);
  const { revision } = table;

  async function readUnversioned(): Promise<OrderPages> {
    const { text, last } = await readPage(pool, table, undefined, PAGE);
    return last === undefined ? Object.assign(yieldText(text), { version: text }) : readPages();
  }

  if (revision === undefined) return { list: readUnversioned, noteChange() {} };
  const select = nameStatement(revision);
  return createNewestList({
    async readRevision() {
      const revision = (await pool.query(select)).rows[0]?.['revision'];
      if (typeof revision === 'string') return revision;
      noteNull();
      // Nothing says that the list is unchanged.
      return crypto.randomUUID();
    },

    readPages,
  });
}

async function* yieldText(text: string): AsyncGenerator<string> {
  yield text;
}

/**
 * Creates a function that reads a list from one snapshot: on a connection of its own, or in a single
 * query if the pool has no `connect`.
 */
function createPageReader(pool: PostgresPool, table: OrderTable): () => AsyncGenerator<string> {
  if (pool.connect === undefined) {
    return async function* () {
      yield (await readPage(pool, table, undefined, 'ALL')).text;
    };
  }
  const readSnapshot = createSnapshotReader(pool.connect.bind(pool));
  return () => readSnapshot((client) => readTexts(client, table));
}

type ListedTable = Pick<OrderTable, 'table' | 'id' | 'json'>;

/** Yields the orders' JSON texts page by page. */
async function* readTexts(client: PostgresClient, table: ListedTable): AsyncGenerator<string> {
  for (let first: OrderId | undefined; ; ) {
    const { text, last } = await readPage(client, table, first, PAGE);
    if (text !== '') yield text;
    if (last === undefined || last === INT64_MAX) return;
    first = last + 1n;
  }
}

/** Reads the page that begins with the id `first`, or the first page, which an unusable id fails. */
async function readPage(
  client: PostgresClient,
  { table, id, json }: ListedTable,
  first: OrderId | undefined,
  limit: number | 'ALL',
) {
  const [condition, missing, values] =
    first === undefined
      ? ['', `EXISTS (SELECT FROM ${table} AS o WHERE o.${id} IS NULL)`, []]
      : [`WHERE o.${id} >= $1::text::int8`, 'false', [`${first}`]];
  // `string_agg` reads directly from the sorted subquery, so it keeps the sequence.
  const text = `SELECT count(*)::text AS count, max(id)::int8::text AS last, string_agg(json, ',') AS text,
      (${missing})::text AS missing
    FROM (SELECT o.${id} AS id, ${json} AS json FROM ${table} AS o ${condition} ORDER BY o.${id} LIMIT ${limit}) AS page`;
  // Not prepared: a plan made for a few rows would sort the whole table after it has grown.
  const { rows } = await client.query({ text, values }).catch((error) => {
    // Only the id can be invalid for its field, because all other values are checked.
    if (!codeOf(error).startsWith(DATA_EXCEPTION)) throw error;
    throw new Error(`columns.id: ${table} has an id that is not an int64: ${messageOf(error)}`, { cause: error });
  });
  const [page] = rows;
  if (page?.['missing'] === 'true') throw new Error(`columns.id: ${table} has an id that is NULL`);
  return {
    /** The orders' JSON texts, separated by commas. README.md says why PostgreSQL serialises them. */
    text: escapeNonAscii(String(page?.['text'] ?? '')),
    /** The id of the last order of a full page, after which more orders may follow. */
    last: Number(page?.['count']) === limit ? BigInt(String(page?.['last'])) : undefined,
  };
}

/**
 * Yields all records of the store's own table in pages, ascending by id, from one snapshot, as
 * slowly as its caller reads.
 */
export async function* readRecords(connect: Connect): AsyncGenerator<readonly OrderRecord[]> {
  const json = `left(${OWN_TABLE.json}, -1) || ',"status":' || to_json(o.status) || '}'`;
  const readSnapshot = createSnapshotReader(connect, LIFT_TIMEOUTS);
  for await (const text of readSnapshot((client) => readTexts(client, { ...OWN_TABLE, json }))) {
    yield Array.from(parseJsonArray(`[${text}]`), ({ value }) => readRecord(Object(value)));
  }
}

function readRecord(value: Readonly<Record<string, unknown>>): OrderRecord {
  return { ...readOrder(value), status: String(value['status']) };
}
