import type { Schemas } from '../../databases/postgres/migration.js';
import { DATE_TIME_PATTERN } from '../date-time.js';
import { FIELD_NAMES, FIELDS } from '../fields.js';
import { STATUS } from '../record.js';
import { OWN_SERIALIZERS } from './fields.js';
import { OWN_REVISION, TRACK_CHANGES } from './revision.js';
import { readTable } from './table.js';

/** The table accepts what `parseOrderRecord` accepts, whichever program writes it. */
export const ORDERS_SCHEMA: Schemas = {
  orders: [
    `CREATE TABLE store_orders (
      id bigint PRIMARY KEY,
      pet_id bigint,
      quantity bigint CONSTRAINT order_quantity_is_a_safe_integer
        CHECK (quantity BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}),
      ship_date text CONSTRAINT order_ship_date_is_rfc_3339 CHECK (ship_date ~ '${DATE_TIME_PATTERN}'),
      complete boolean,
      status text NOT NULL CONSTRAINT order_status_is_a_word CHECK (status ~ '${STATUS.source}'));
    ${TRACK_CHANGES}`,
  ],
};

export const OWN_TABLE = readTable(
  {
    table: 'store_orders',
    columns: {
      id: FIELDS.id.column,
      status: 'status',
      ...Object.fromEntries(FIELD_NAMES.map((name) => [name, FIELDS[name].column])),
    },
    revision: OWN_REVISION,
  },
  OWN_SERIALIZERS,
);
