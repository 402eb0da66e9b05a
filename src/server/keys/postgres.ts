import { LRUCache } from 'lru-cache';
import { checkFields, checkFunction, checkMethods } from '../../check.js';
import { type PostgresClient, type PostgresRow, queryOften, WAIT_FOR_DISK } from '../../databases/postgres/client.js';
import type { Schemas } from '../../databases/postgres/migration.js';
import type { Principal } from '../../http/index.js';
import { type Clock, createSystemClock } from '../../limits/index.js';
import { createApiKey, isApiKey, keyDigest, randomBase62 } from './api-key.js';
import { toPlan } from './key-plan.js';
import { type KeyChange, type KeyRecord, type KeyRing, newKey, REMEMBERED_KEYS, readKeyRecord } from './key-ring.js';
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

/** Reads a plan from the JSON in parameter 3. A field that is absent becomes NULL. */
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
 * Returns an SQL statement that changes a key, unless the key is revoked. The statement also stores
 * a new revision of the key table. It locks the key's row before it reads the row, for the reason
 * given in `orders/postgres/transition.ts`. Revisions are random, because a counter could repeat a
 * value after an older copy of the database is restored.
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
 * The connections of a key ring. The caller opens and closes them. They must be separate, so that a
 * query over one of them never waits for a query over another.
 */
export interface KeyRingClients {
  /** Issues, changes and lists keys. Also looks up cached keys again after a change. */
  readonly keys: PostgresClient;
  /** Reads the revision of the key table. If it cannot be read, cached keys are not accepted. */
  readonly revision: PostgresClient;
  /** Looks up keys that are not cached. Strangers can make up any number of them. */
  readonly strangers: PostgresClient;
}

/**
 * How many unknown keys can be looked up at the same time. A look-up takes about 0.1 ms, so the
 * last of a thousand waits for about 0.1 s.
 */
const STRANGERS_AT_ONCE = 1_000;

/** A key that was valid when it was read. */
interface KnownKey {
  readonly principal: Principal;
  /**
   * How many changes of the revision this process had seen when it looked up the key. If it has
   * seen more since then, the key is looked up again.
   */
  readonly changes: number;
}

/**
 * Creates a key ring in the program's tables, which any number of processes may share. Keys in use
 * are authenticated from memory. A change by another process takes effect within a second. If the
 * database fails, calls reject, so that no valid key is reported as unknown. The look-up of a key
 * that was never seen also rejects while a thousand such look-ups are in flight.
 */
export function createPostgresKeyRing(
  clients: KeyRingClients,
  { nowMs }: Pick<Clock, 'nowMs'> = createSystemClock(),
): KeyRing & Required<Pick<KeyRing, 'isKnownKey'>> {
  checkFields('options', clients, ['keys', 'revision', 'strangers']);
  const { keys: client } = clients;
  for (const name of ['keys', 'revision', 'strangers'] as const) checkMethods(name, clients[name], ['query']);
  checkFunction('nowMs', nowMs);
  // Known keys by their text. Only issued keys are added, so that made-up keys cannot evict them.
  const known = new LRUCache<string, KnownKey>({ max: REMEMBERED_KEYS });
  let changes = 0;
  const revision = createRevisionWatch(
    nowMs,
    async () =>
      revisionOf((await queryOften(clients.revision, 'SELECT revision FROM store_orders_keys_revision')).rows[0]),
    () => void changes++,
  );
  let strangers = 0;
  const lookups = new Map<string, { readonly askedMs: number; readonly found: Promise<Principal | undefined> }>();

  /**
   * Returns the principal of a cached key, unless the revision has changed since the key was looked
   * up. The caller must check that the revision was read recently.
   */
  function rememberedOf(apiKey: string): Principal | undefined {
    const key = known.get(apiKey);
    return key?.changes === changes ? key.principal : undefined;
  }

  async function find(from: PostgresClient, apiKey: string, askedMs: number): Promise<Principal | undefined> {
    const statement = `${SELECT} WHERE digest = $1::text AND revoked_at IS NULL`;
    const [row] = (await queryOften(from, statement, [keyDigest(apiKey)])).rows;
    if (row === undefined) {
      known.delete(apiKey);
      return undefined;
    }
    const { id, plan } = readKeyRecord(row);
    const principal = { id, plan: toPlan(plan) };
    // The revision was read together with the key. If a newer revision is known, the key is not
    // cached, because it may be outdated.
    if (revision.learn(revisionOf(row), askedMs)) known.set(apiKey, { principal, changes });
    return principal;
  }

  async function findStranger(apiKey: string, askedMs: number): Promise<Principal | undefined> {
    if (strangers === STRANGERS_AT_ONCE) throw new Error('too many unknown API keys are being looked up');
    strangers++;
    try {
      return await find(clients.strangers, apiKey, askedMs);
    } finally {
      strangers--;
    }
  }

  /** Shares one query among all callers that ask for the same key at the same time. */
  function lookUp(apiKey: string): Promise<Principal | undefined> {
    const askedMs = nowMs();
    const other = lookups.get(apiKey);
    if (other !== undefined && askedMs - other.askedMs < TRUSTED_MS) return other.found;
    const found = known.has(apiKey) ? find(client, apiKey, askedMs) : findStranger(apiKey, askedMs);
    const lookup = { askedMs, found: found.finally(ended) };
    function ended(): void {
      if (lookups.get(apiKey) === lookup) lookups.delete(apiKey);
    }
    lookups.set(apiKey, lookup);
    return lookup.found;
  }

  async function lookUpAfresh(apiKey: string): Promise<Principal | undefined> {
    await revision.refresh();
    return rememberedOf(apiKey) ?? lookUp(apiKey);
  }

  async function change(statement: string, id: string, value: string): Promise<KeyChange> {
    try {
      const [row] = (await client.query(statement, [id, randomBase62(16), value])).rows;
      if (row === undefined) return 'not_found';
      return row['changed'] === '1' ? 'changed' : 'already_revoked';
    } finally {
      // The caches are cleared even after a failure. The server may have executed the statement
      // although its reply was lost.
      revision.forget();
      lookups.clear();
    }
  }

  async function get(id: string): Promise<KeyRecord | undefined> {
    const [row] = (await client.query(`${SELECT} WHERE id = $1::text`, [id])).rows;
    return row && readKeyRecord(row);
  }

  return {
    authenticate(apiKey) {
      const principal = rememberedOf(apiKey);
      if (principal === undefined) return isApiKey(apiKey) ? lookUp(apiKey) : undefined;
      return revision.isFresh() ? principal : lookUpAfresh(apiKey);
    },

    isKnownKey: (apiKey) => known.has(apiKey),

    async create(plan, name) {
      const issued = newKey(plan, name);
      const { key, plan: given, ...rest } = issued;
      await client.query(INSERT, [keyDigest(key), JSON.stringify(rest), JSON.stringify(given)]);
      return issued;
    },

    isEmpty: async () => (await client.query('SELECT 1 FROM store_orders_keys LIMIT 1')).rows.length === 0,
    list: async () => (await client.query(`${SELECT} ORDER BY seq`)).rows.map(readKeyRecord),

    get,

    setPlan: (id, plan) => change(SET_PLAN, id, JSON.stringify(plan)),
    revoke: (id) => change(REVOKE, id, new Date().toISOString()),

    async rotate(id) {
      const key = createApiKey();
      const outcome = await change(ROTATE, id, keyDigest(key));
      if (outcome !== 'changed') return outcome;
      const record = await get(id);
      return record === undefined ? 'not_found' : { ...record, key };
    },
  };
}

/** Returns the revision that a row contains, or an empty string if no key has ever been changed. */
function revisionOf(row: PostgresRow | undefined): string {
  return String(row?.['revision'] ?? '');
}
