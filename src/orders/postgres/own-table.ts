import type { Schemas } from '../../databases/postgres/migration.js';
import { OWN_FIELDS } from './fields.js';
import { readTable } from './table.js';

export const ORDERS_SCHEMA: Schemas = {
  orders: [
    `CREATE TABLE store_orders (
      id bigint PRIMARY KEY, pet_id bigint, quantity bigint, ship_date text, complete boolean, status text NOT NULL)`,
  ],
};

const columns = {
  id: 'id',
  petId: 'pet_id',
  quantity: 'quantity',
  shipDate: 'ship_date',
  complete: 'complete',
  status: 'status',
};

export const OWN_TABLE = readTable({ table: 'store_orders', columns }, OWN_FIELDS);
