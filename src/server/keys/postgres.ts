import { LRUCache } from 'lru-cache';
import { type PostgresClient, type PostgresRow, WAIT_FOR_DISK } from '../../databases/postgres/client.js';
import type { Schemas } from '../../databases/postgres/migration.js';
import type { Principal } from '../../http/index.js';
import { type Clock, createSystemClock } from '../../limits/index.js';
import { createApiKey, digestOf, isApiKey, randomBase62 } from './api-key.js';
import { toPlan } from './key-plan.js';
import { type KeyChange, type KeyRecord, type KeyRing, newKey, REMEMBERED_KEYS, recordOf } from './key-ring.js';
import { createRevisionWatch, TRUSTED_MS } from './revision-watch.js';

export const KEYS_SCHEMA: Schemas = {
  keys: [
    `CREATE TABLE store_orders_keys (
      id text PRIMARY KEY, seq bigint GENERATED ALWAYS AS IDENTITY, digest text NOT NULL UNIQUE, name text,
      plan text NOT NULL, per_minute bigint, per_day bigint, created_at text NOT NULL, revoked_at text);
    CREATE TABLE store_orders_keys_revision (one boolean PRIMARY KEY CHECK (one), revision text NOT NULL)`,
  ],
};

const SELECT = `SELECT id, name, plan, per_minute::text, per_day::text, created_at, revoked_at,
  (SELECT revision FROM store_orders_keys_revision) AS revision FROM store_orders_keys`;

/** What is absent from the JSON is NULL. */
const GIVEN_PLAN = `SELECT name, "perMinute", "perDay"
  FROM json_to_record($3::text::json) AS (name text, "perMinute" bigint, "perDay" bigint)`;

const INSERT = `WITH issued AS (
    INSERT INTO store_orders_keys (id, digest, name, created_at, plan, per_minute, per_day)
    SELECT key.id, $1::text, key.name, key."createdAt", plan.* FROM
      json_to_record($2::text::json) AS key (id text, name text, "createdAt" text), (${GIVEN_PLAN}) AS plan RETURNING 1)
  SELECT ${WAIT_FOR_DISK} FROM issued`;

const SET_PLAN = changeOf(`(plan, per_minute, per_day) = (${GIVEN_PLAN})`);
const REVOKE = changeOf('revoked_at = $3::text');
const ROTATE = changeOf('digest = $3::text');

/**
 * Changes a key that is not revoked, and the revision with it, in one statement. The key is locked before it is looked
 * at, as an order is (`orders/postgres-transition.ts`). The revision is random, so that it never comes again: not even
 * after a copy of the database has taken the place of one that was ahead of it.
 */
function changeOf(assignment: string): string {
  return `WITH found AS (SELECT id, revoked_at FROM store_orders_keys WHERE id = $1::text FOR NO KEY UPDATE),
    changed AS (
      UPDATE store_orders_keys AS k SET ${assignment} FROM found
      WHERE k.id = found.id AND found.revoked_at IS NULL RETURNING 1),
    revised AS (
      INSERT INTO store_orders_keys_revision SELECT true, $2::text FROM changed
      ON CONFLICT (one) DO UPDATE SET revision = excluded.revision)
    SELECT (SELECT count(*) FROM changed)::text AS changed, ${WAIT_FOR_DISK} FROM found`;
}

/**
 * The key ring in the program's tables, over connections that stay the caller's; any number of processes may share it. A
 * key in use is answered from memory, and a change by another process seen within a second. That the database fails is
 * a rejection, and never an unknown key.
 */
export function createPostgresKeyRing(
  client: PostgresClient,
  { nowMs }: Pick<Clock, 'nowMs'> = createSystemClock(),
): KeyRing {
  // By the key's text, and issued keys only: what strangers send must not push them out.
  const remembered = new LRUCache<string, Principal>({ max: REMEMBERED_KEYS });
  const revision = createRevisionWatch(
    nowMs,
    async () => revisionOf((await client.query('SELECT revision FROM store_orders_keys_revision')).rows[0]),
    () => remembered.clear(),
  );
  const lookups = new Map<string, { readonly askedMs: number; readonly found: Promise<Principal | undefined> }>();

  async function find(apiKey: string, askedMs: number): Promise<Principal | undefined> {
    const statement = `${SELECT} WHERE digest = $1::text AND revoked_at IS NULL`;
    const [row] = (await client.query(statement, [digestOf(apiKey)])).rows;
    if (row === undefined) return undefined;
    const { id, plan } = recordOf(row);
    const principal = { id, plan: toPlan(plan) };
    // The revision of the same moment: an answer that comes late is not remembered as if it were new.
    if (revision.learn(revisionOf(row), askedMs)) remembered.set(apiKey, principal);
    return principal;
  }

  /** One query for all who ask for a key at the same time. */
  function lookUp(apiKey: string): Promise<Principal | undefined> {
    const askedMs = nowMs();
    const other = lookups.get(apiKey);
    if (other !== undefined && askedMs - other.askedMs < TRUSTED_MS) return other.found;
    const lookup = { askedMs, found: find(apiKey, askedMs).finally(ended) };
    function ended(): void {
      if (lookups.get(apiKey) === lookup) lookups.delete(apiKey);
    }
    lookups.set(apiKey, lookup);
    return lookup.found;
  }

  async function lookUpAfresh(apiKey: string): Promise<Principal | undefined> {
    await revision.refresh();
    return remembered.get(apiKey) ?? lookUp(apiKey);
  }

  async function change(statement: string, id: string, value: string): Promise<KeyChange> {
    try {
      const [row] = (await client.query(statement, [id, randomBase62(16), value])).rows;
      if (row === undefined) return 'not_found';
      return row['changed'] === '1' ? 'changed' : 'already_revoked';
    } finally {
      // Even when it failed: its answer may be all that was lost.
      revision.forget();
      lookups.clear();
    }
  }

  async function get(id: string): Promise<KeyRecord | undefined> {
    const [row] = (await client.query(`${SELECT} WHERE id = $1::text`, [id])).rows;
    return row && recordOf(row);
  }

  return {
    authenticate(apiKey) {
      const principal = remembered.get(apiKey);
      if (principal === undefined) return isApiKey(apiKey) ? lookUp(apiKey) : undefined;
      return revision.isFresh() ? principal : lookUpAfresh(apiKey);
    },

    async create(plan, name) {
      const issued = newKey(plan, name);
      const { key, plan: given, ...rest } = issued;
      await client.query(INSERT, [digestOf(key), JSON.stringify(rest), JSON.stringify(given)]);
      return issued;
    },

    isEmpty: async () => (await client.query('SELECT 1 FROM store_orders_keys LIMIT 1')).rows.length === 0,
    list: async () => (await client.query(`${SELECT} ORDER BY seq`)).rows.map(recordOf),

    get,

    setPlan: (id, plan) => change(SET_PLAN, id, JSON.stringify(plan)),
    revoke: (id) => change(REVOKE, id, new Date().toISOString()),

    async rotate(id) {
      const key = createApiKey();
      const outcome = await change(ROTATE, id, digestOf(key));
      if (outcome !== 'changed') return outcome;
      const record = await get(id);
      return record === undefined ? 'not_found' : { ...record, key };
    },
  };
}

/** Before the first change there is none. */
function revisionOf(row: PostgresRow | undefined): string {
  return String(row?.['revision'] ?? '');
}
