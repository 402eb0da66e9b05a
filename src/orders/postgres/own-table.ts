import type { Schemas } from '../../databases/postgres/migration.js';
import { FIELD_NAMES, FIELDS } from '../fields.js';
import { OWN_SERIALIZERS } from './fields.js';
import { OWN_REVISION, TRACK_CHANGES } from './revision.js';
import { readTable } from './table.js';

export const ORDERS_SCHEMA: Schemas = {
  orders: [
    `CREATE TABLE store_orders (
      id bigint PRIMARY KEY, pet_id bigint, quantity bigint, ship_date text, complete boolean, status text NOT NULL);
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
