/**
 * A revision for a table of your own in PostgreSQL, for the option `revision`. With it, the list is
 * read once for each change, whichever program makes it, and no writer waits for another.
 *
 * Replace `purchases` by the name of your table, and `OF` by the columns that the list shows. The
 * trigger replaces a random number in a sequence, and holds a lock until its transaction ends. The
 * revision is the number and the locks: it changes when a transaction begins to change the list, and
 * again when it ends. Run the statements as the owner of the table, in its schema.
 */
export const CREATE_REVISION = `
  CREATE SEQUENCE IF NOT EXISTS purchases_revision MINVALUE -9223372036854775808;
  GRANT SELECT ON SEQUENCE purchases_revision TO PUBLIC;

  CREATE OR REPLACE FUNCTION purchases_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock_shared(TG_RELID::bigint);
    PERFORM setval(format('%I.purchases_revision', TG_TABLE_SCHEMA), hashtextextended(gen_random_uuid()::text, 0));
    RETURN NULL;
  END $$;

  DROP TRIGGER IF EXISTS purchases_changed ON purchases;
  CREATE TRIGGER purchases_changed
    AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF number, animal, units, leaves_on
    ON purchases FOR EACH STATEMENT EXECUTE FUNCTION purchases_changed();
  ALTER TABLE purchases ENABLE ALWAYS TRIGGER purchases_changed`;

/**
 * Returns NULL in the recovery of a standby and without the trigger, when nothing says that the list
 * is unchanged. The number alone is not enough: a crash can lose a commit, and a dump can lack one.
 */
export const REVISION = `
  SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()),
    extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()), pg_relation_filenode('purchases'), t.xmin, (
      SELECT concat_ws(' ', last_value, string_agg(virtualtransaction, ' ' ORDER BY virtualtransaction)) FROM pg_locks
      WHERE locktype = 'advisory' AND classid = 0 AND objid = 'purchases'::regclass AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())))
  FROM purchases_revision, pg_trigger AS t
  WHERE tgrelid = 'purchases'::regclass AND tgname = 'purchases_changed' AND tgenabled = 'A' AND NOT pg_is_in_recovery()`;
