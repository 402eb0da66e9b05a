// A process for lock.proof.ts. It holds the write lock of the database in a directory until it is
// told to release it.
import { join } from 'node:path';
import { openSqliteDatabase } from 'store-orders/sqlite';

const [directory = ''] = process.argv.slice(2);
const database = openSqliteDatabase(join(directory, 'store-orders.db'));
// Waits for the lock, because the server may be writing at this moment.
database.prepare('PRAGMA busy_timeout = 2000').get();
database.exec('BEGIN IMMEDIATE');
process.once('message', () => {
  database.exec('COMMIT');
  database.close();
  process.disconnect();
});
process.send?.('locked');
