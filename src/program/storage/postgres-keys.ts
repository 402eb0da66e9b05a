import { nameStatement, type PostgresClient, WAIT_FOR_DISK } from '../../databases/postgres/client.js';
import type { Schemas } from '../../databases/postgres/migration.js';
import { readKeyRecord } from '../keys/key-record.js';
import { createKeyRing, type KeyChange, type KeyReads, type KeyRing, type KeyWrites } from '../keys/key-ring.js';

export const KEYS_SCHEMA: Schemas = {
  keys: [
    `CREATE TABLE store_orders_keys (
      id text PRIMARY KEY, seq bigint GENERATED ALWAYS AS IDENTITY, digest text NOT NULL UNIQUE, name text,
      plan text NOT NULL, per_minute bigint, per_day bigint, created_at text NOT NULL, revoked_at text,
      expires_at text)`,
  ],
};

const SELECT = `SELECT id, name, plan, per_minute::text, per_day::text, created_at, revoked_at, expires_at
  FROM store_orders_keys`;

const SELECT_VALID = nameStatement(`${SELECT} WHERE digest = $1::text AND revoked_at IS NULL`);

/** Reads a plan from the JSON in parameter 2. A field that is absent becomes NULL. */
const GIVEN_PLAN = `SELECT name, "perMinute", "perDay"
  FROM json_to_record($2::text::json) AS (name text, "perMinute" bigint, "perDay" bigint)`;

const INSERT = `WITH issued AS (
    INSERT INTO store_orders_keys (id, digest, name, created_at, expires_at, plan, per_minute, per_day)
    SELECT key.id, $3::text, key.name, key."createdAt", key."expiresAt", plan.* FROM
      json_to_record($1::text::json) AS key (id text, name text, "createdAt" text, "expiresAt" text),
      (${GIVEN_PLAN}) AS plan RETURNING 1)
  SELECT ${WAIT_FOR_DISK} FROM issued`;

const SET_PLAN = changeStatement(`(plan, per_minute, per_day) = (${GIVEN_PLAN})`);
const SET_DIGEST = changeStatement('digest = $2::text');
const SET_REVOKED = changeStatement('revoked_at = $2::text');

/**
 * Returns an SQL statement that changes a key, unless the key is revoked. It locks the key's row
 * before it reads the row, for the reason given in `orders/postgres/transition.ts`.
 */
function changeStatement(assignment: string): string {
  return `WITH found AS (SELECT id, revoked_at FROM store_orders_keys WHERE id = $1::text FOR NO KEY UPDATE),
    changed AS (
      UPDATE store_orders_keys AS k SET ${assignment} FROM found
      WHERE k.id = found.id AND found.revoked_at IS NULL RETURNING 1)
    SELECT (SELECT count(*) FROM changed)::text AS changed, ${WAIT_FOR_DISK} FROM found`;
}

/** Creates a key ring in PostgreSQL, which many processes may share. The caller owns the pool. */
export function createPostgresKeyRing(pool: PostgresClient): KeyRing {
  async function change(statement: string, id: string, value: string): Promise<KeyChange> {
    const [row] = (await pool.query({ text: statement, values: [id, value] })).rows;
    if (row === undefined) return 'not_found';
    return row['changed'] === '1' ? 'changed' : 'already_revoked';
  }

  const table: KeyReads & KeyWrites = {
    async byDigest(digest) {
      const [row] = (await pool.query({ ...SELECT_VALID, values: [digest] })).rows;
      return row && readKeyRecord(row);
    },

    async get(id) {
      const [row] = (await pool.query({ text: `${SELECT} WHERE id = $1::text`, values: [id] })).rows;
      return row && readKeyRecord(row);
    },

    isEmpty: async () => (await pool.query({ text: 'SELECT 1 FROM store_orders_keys LIMIT 1' })).rows.length === 0,
    list: async () => (await pool.query({ text: `${SELECT} ORDER BY seq` })).rows.map(readKeyRecord),
    add: ({ plan, ...rest }, digest) =>
      pool.query({ text: INSERT, values: [JSON.stringify(rest), JSON.stringify(plan), digest] }),
    setPlan: (id, plan) => change(SET_PLAN, id, JSON.stringify(plan)),
    setDigest: (id, digest) => change(SET_DIGEST, id, digest),
    setRevoked: (id, revokedAt) => change(SET_REVOKED, id, revokedAt),
  };
  return createKeyRing(table, table);
}
