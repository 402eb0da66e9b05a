import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import type { WriteQueue } from '../../databases/sqlite/group-commit.js';
import type { KeyPlan } from '../keys/key-plan.js';
import { type KeyRecord, readKeyRecord } from '../keys/key-record.js';
import type { KeyChange, KeyReads, KeyWrites } from '../keys/key-ring.js';

/** Creates the table of keys on a database that has it. A thread can run it for another one. */
export function createKeyTable(database: SqliteDatabase, { write }: WriteQueue): KeyReads & KeyWrites {
  const selectByDigest = prepare(database, 'SELECT * FROM keys WHERE digest = ? AND revoked_at IS NULL');
  const selectById = prepare(database, 'SELECT * FROM keys WHERE id = ?');
  const selectAll = prepare(database, 'SELECT * FROM keys ORDER BY created_at, rowid');
  const selectAny = prepare(database, 'SELECT 1 FROM keys LIMIT 1');
  const insert = prepare(
    database,
    `INSERT INTO keys (
    id, digest, name, plan, per_minute, per_day, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const updatePlan = prepare(database, 'UPDATE keys SET plan = ?, per_minute = ?, per_day = ? WHERE id = ?');
  const updateDigest = prepare(database, 'UPDATE keys SET digest = ? WHERE id = ?');
  const updateRevoked = prepare(database, 'UPDATE keys SET revoked_at = ? WHERE id = ?');

  function get(id: string): KeyRecord | undefined {
    const row = selectById.get(id);
    return row && readKeyRecord(row);
  }

  function change(id: string, update: () => void): Promise<KeyChange> {
    return write(() => {
      const record = get(id);
      if (record === undefined) return 'not_found';
      if (record.revokedAt !== undefined) return 'already_revoked';
      update();
      return 'changed';
    });
  }

  return {
    byDigest(digest) {
      const row = selectByDigest.get(digest);
      return row && readKeyRecord(row);
    },

    isEmpty: () => selectAny.get() === undefined,
    list: () => selectAll.all().map(readKeyRecord),
    get,

    add: ({ id, name, plan, createdAt, expiresAt }, digest) =>
      write(() => void insert.run(id, digest, name ?? null, ...planValuesOf(plan), createdAt, expiresAt ?? null)),

    setPlan: (id, plan) => change(id, () => updatePlan.run(...planValuesOf(plan), id)),
    setDigest: (id, digest) => change(id, () => updateDigest.run(digest, id)),
    setRevoked: (id, revokedAt) => change(id, () => updateRevoked.run(revokedAt, id)),
  };
}

function planValuesOf({ name, perMinute, perDay }: KeyPlan) {
  return [
    name,
    perMinute === undefined ? null : BigInt(perMinute),
    perDay === undefined ? null : BigInt(perDay),
  ] as const;
}
