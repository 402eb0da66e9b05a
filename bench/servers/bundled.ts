import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { PENDING_IDS, TEN } from './orders.js';
import { PER_MINUTE } from './plenty.js';

// Runs the program itself, `store-orders serve`, with the orders and an API key in a SQLite file.
// Its log is written to a file. The parameters are further options of `serve`.
const program = fileURLToPath(import.meta.resolve('store-orders/server')).replace(/index\.js$/, 'main.js');
const directory = mkdtempSync(join(tmpdir(), 'store-orders-bench-'));
const db = ['--db', join(directory, 'orders.db')];
const file = join(directory, 'orders.ndjson');
const output = join(directory, 'log');

importOrders(TEN);
// `PER_MINUTE` is the largest quota that the program allows.
const plan = ['--plan', 'enterprise', '--per-minute', `${PER_MINUTE}`, '--per-day', `${PER_MINUTE}`];
const apiKey: unknown = JSON.parse(command('keys', 'create', ...plan, '--json')).key;

const server = spawn(process.execPath, [program, 'serve', ...db, '--port', '0', '--json', ...process.argv.slice(2)], {
  stdio: ['ignore', openSync(output, 'w'), 'inherit'],
});
const stop = () => server.kill();
process.once('SIGTERM', stop).once('disconnect', stop);
server.once('exit', () => {
  rmSync(directory, { recursive: true, force: true });
  process.exit();
});
while (!readFileSync(output, 'utf8').includes('\n')) await wait(20);
const [listening = ''] = readFileSync(output, 'utf8').split('\n');
process.send?.({ url: new URL(JSON.parse(listening).url).origin, apiKey, pid: server.pid });
process.on('message', () => {
  importOrders(PENDING_IDS.map((id) => ({ id, petId: 1, quantity: 1 })));
  process.send?.('refilled');
});

function importOrders(orders: readonly object[]): void {
  writeFileSync(file, orders.map((order) => `${JSON.stringify(order)}\n`).join(''));
  command('orders', 'import', file, '--replace');
}

function command(...parameters: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...parameters, ...db], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${parameters.join(' ')}: ${stderr}`);
  return stdout;
}
