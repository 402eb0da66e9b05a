import { appendFileSync, copyFileSync, cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../support/root.js';
import { temporaryDirectory } from '../../support/temporary-file.js';

/** One more step for each list of migrations, by the module and the name of the list. */
const STEPS = {
  'orders/sqlite/table.js': "ORDERS_SCHEMA.orders.push('ALTER TABLE orders ADD COLUMN next TEXT')",
  'program/storage/program-parts.js': "SCHEMAS.program.push('ALTER TABLE keys ADD COLUMN next TEXT')",
  'orders/postgres/own-table.js': "ORDERS_SCHEMA.orders.push('ALTER TABLE store_orders ADD COLUMN next text')",
  'program/storage/postgres-keys.js': "KEYS_SCHEMA.keys.push('ALTER TABLE store_orders_keys ADD COLUMN next text')",
};

/** Writes a next version of the built program, whose tables have one more column. Returns its main file. */
export function writeNextVersion(): string {
  const directory = temporaryDirectory();
  cpSync(join(root, 'dist'), join(directory, 'dist'), { recursive: true });
  copyFileSync(join(root, 'package.json'), join(directory, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'), 'junction');
  for (const [module, step] of Object.entries(STEPS)) appendFileSync(join(directory, 'dist', module), `\n${step};\n`);
  return join(directory, 'dist/program/main.js');
}
