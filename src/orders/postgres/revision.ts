import { codeOf, type PostgresClient } from '../../databases/postgres/client.js';
import { messageOf } from '../../message-of.js';
import { INT64_MIN } from '../order.js';

/** The first half of the advisory lock of writers. No other program is likely to use it. */
const WRITERS = 1_145_292_107;

/**
 * Statements of PL/pgSQL that create what is missing of the revision. It contains a random number in
 * a sequence, and the transactions in flight that have changed the list. Such a transaction replaces
 * the number before it commits, and holds a shared lock until its end. README.md gives the reasons.
 */
export const TRACK_CHANGES = `IF to_regclass('store_orders_revision') IS NULL THEN
      CREATE SEQUENCE store_orders_revision MINVALUE ${INT64_MIN};
      GRANT SELECT ON SEQUENCE store_orders_revision TO PUBLIC;
    END IF;
    IF to_regproc('store_orders_changed') IS NULL THEN
      CREATE FUNCTION store_orders_changed() RETURNS trigger
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $changed$ BEGIN
      -- Once in a transaction is enough, because its end changes the revision again. Before it has
      -- an id, the transaction has changed no row.
      IF pg_current_xact_id_if_assigned() IS NOT NULL
        AND current_setting('store_orders.changed', true) IS DISTINCT FROM TG_RELID::text THEN
        PERFORM set_config('store_orders.changed', TG_RELID::text, true);
        PERFORM pg_advisory_xact_lock_shared(${WRITERS}::bigint << 32 | TG_RELID::bigint);
        PERFORM setval(format('%I.store_orders_revision', TG_TABLE_SCHEMA), hashtextextended(gen_random_uuid()::text, 0));
      END IF;
      RETURN NULL;
    END $changed$;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'store_orders'::regclass AND tgname = 'store_orders_changed') THEN
      CREATE TRIGGER store_orders_changed
        AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF id, pet_id, quantity, ship_date, complete
        ON store_orders FOR EACH STATEMENT EXECUTE FUNCTION store_orders_changed();
    END IF;
    ALTER TABLE store_orders ENABLE ALWAYS TRIGGER store_orders_changed`;

/** SQL that returns the trigger unless it is missing, or disabled for some writers. */
const TRIGGER = `SELECT xmin AS changed_by FROM pg_trigger
    WHERE tgrelid = 'store_orders'::regclass AND tgname = 'store_orders_changed' AND tgenabled = 'A'`;

/**
 * SQL that returns the revision of the own list, or no row without the trigger. Reads the sequence
 * before the locks: in the other order, a transaction could begin to change the list between them,
 * and be seen in neither. A crash or a failover can lose a commit but not its number, and a dump can
 * have the number of a commit that it lacks. So the revision includes the start of the server, the
 * last reset of its statistics, which it loses when one of its processes crashes, the file of the
 * table, and the transaction that last changed the trigger. A standby in recovery does not see the
 * locks, so each of its revisions is another one.
 */
export const OWN_REVISION = `SELECT CASE WHEN pg_is_in_recovery() THEN gen_random_uuid()::text ELSE
    concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()),
    extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()), pg_relation_filenode('store_orders'), changed_by, (
    SELECT concat_ws(' ', last_value, string_agg(virtualtransaction, ' ' ORDER BY virtualtransaction))
    FROM pg_locks WHERE locktype = 'advisory' AND classid = ${WRITERS} AND objid = 'store_orders'::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))) END
  FROM store_orders_revision, (${TRIGGER}) AS trigger`;

/** Whether the sequence and the trigger are there, and with it the trigger's function. */
const IS_TRACKED = `to_regclass('store_orders_revision') IS NOT NULL AND EXISTS (${TRIGGER})`;

/**
 * Restores what is missing. The trigger does its work with the rights of the owner of its function,
 * so no trigger is created that would reject all writes. Waits for writers only for a short time,
 * because further writers wait behind this transaction.
 */
const RESTORE = `DO $restore$ BEGIN
    PERFORM set_config('lock_timeout', '2s', true);
    PERFORM set_config('search_path', quote_ident(nspname), true)
      FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace WHERE pg_class.oid = 'store_orders'::regclass;
    LOCK TABLE store_orders IN SHARE ROW EXCLUSIVE MODE;
    ${TRACK_CHANGES};
    IF NOT has_sequence_privilege(
      (SELECT proowner FROM pg_proc WHERE oid = to_regproc('store_orders_changed')), 'store_orders_revision', 'UPDATE') THEN
      RAISE insufficient_privilege USING MESSAGE = 'the owner of the function store_orders_changed must be the owner of the sequence store_orders_revision';
    END IF;
  END $restore$`;

const LOST = 'the trigger store_orders_changed of the table store_orders is missing, or not enabled ALWAYS';

/** The SQLSTATE codes of a role without the rights, of a standby, and of a lock that is not released. */
const EXPECTED = ['42501', '25006', '55P03'];

/**
 * Restores the trigger of the own list with what belongs to it, for example after a table was
 * restored without them, and reports this as a process warning. If that is not possible, warns too:
 * the list then has no revision.
 */
export async function restoreRevision(client: PostgresClient): Promise<void> {
  const { rows } = await client.query({ text: `SELECT (${IS_TRACKED})::text AS tracked` });
  if (rows[0]?.['tracked'] === 'true') return;
  try {
    await client.query({ text: RESTORE });
    warn('It has been restored.');
  } catch (error) {
    if (!EXPECTED.includes(codeOf(error))) throw error;
    warn(`It could not be restored: ${messageOf(error)}.`);
  }
}

/** Returns a function that warns, the first time it is called, that the list has no revision. */
export function warnOfLostRevision(): () => void {
  let isWarned = false;
  return () => {
    if (isWarned) return;
    isWarned = true;
    warn(
      'Nothing says when the list changes, so it is read up to ten times a second. The method migrate, or a start of the server, restores the trigger if the role owns the table.',
    );
  };
}

function warn(consequence: string): void {
  process.emitWarning(`${LOST}. ${consequence}`, 'StoreOrdersWarning');
}
