import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { PENDING_IDS, TEN } from './orders.js';
import { PER_MINUTE } from './plenty.js';

// Runs a program with the orders and an API key in a SQLite file: `serve`, which is `store-orders
// serve` itself, or a program of `rivals/`. Its log is written to a file. The parameters are the
// name of the program and its further options.
const [name = '', ...options] = process.argv.slice(2);
const program = fileURLToPath(new URL('../program/main.js', import.meta.resolve('store-orders/server')));
const directory = mkdtempSync(join(tmpdir(), 'store-orders-bench-'));
const db = ['--db', join(directory, 'orders.db')];
const file = join(directory, 'orders.ndjson');
const output = join(directory, 'log');

importOrders(TEN);
// `PER_MINUTE` is the largest quota that the program allows.
const plan = ['--plan', 'enterprise', '--per-minute', `${PER_MINUTE}`, '--per-day', `${PER_MINUTE}`];
const apiKey: unknown = JSON.parse(command('keys', 'create', ...plan, '--json')).key;

const started = name === 'serve' ? [program, 'serve', '--json'] : [fileURLToPath(new URL(name, import.meta.url))];
const server = spawn(process.execPath, [...started, ...db, '--port', '0', ...options], {
  stdio: ['ignore', openSync(output, 'w'), 'inherit'],
  env: { ...process.env, API_KEY: `${apiKey}` },
});
const stop = () => server.kill();
process.once('SIGTERM', stop).once('disconnect', stop);
server.once('exit', () => {
  rmSync(directory, { recursive: true, force: true });
  process.exit();
});
const listening = /"url":"(.+?)"/;
while (!listening.test(readFileSync(output, 'utf8'))) await wait(20);
const [, url = ''] = listening.exec(readFileSync(output, 'utf8')) ?? [];
process.send?.({ url: new URL(url).origin, apiKey, pid: server.pid });
// In the warm-up and in the measured second, a program cancels orders from the beginning of a half.
// It does not get as far as `MOST_A_SECOND`.
const MOST_A_SECOND = 50_000;
const pendingIds = PENDING_IDS.filter((_, index) => index % (PENDING_IDS.length / 2) < MOST_A_SECOND);
process.on('message', () => {
  importOrders(pendingIds.map((id) => ({ id, petId: 1, quantity: 1 })));
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
