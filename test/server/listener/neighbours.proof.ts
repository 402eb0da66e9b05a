import { test } from 'node:test';
import { besideStrangers } from './support/neighbours.js';

const SECONDS = Number(process.env['STORE_ORDERS_SECONDS'] ?? 4);

/** Kinds of strangers, each with its number of connections from one address. */
const STRANGERS = [
  ['without a key', 250],
  ['made-up keys', 250],
  ['non-readers', 250],
  ['connections', 250],
  ['slow heads', 256],
  ['slow bodies', 256],
  ['line breaks', 256],
  ['silence', 256],
  ['forty at a time', 4],
] as const;

for (const [kind, connections] of STRANGERS) {
  test(`a customer beside strangers at its own address: ${kind}`, (t) =>
    besideStrangers(t, { kind, connections, from: '127.0.0.1', seconds: SECONDS }));

  test(`a customer beside strangers at twenty other addresses: ${kind}`, (t) =>
    besideStrangers(t, { kind, connections: 4 * connections, from: '20', seconds: SECONDS }));
}
