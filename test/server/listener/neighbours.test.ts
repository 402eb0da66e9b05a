import { test } from 'node:test';
import { besideStrangers } from './support/neighbours.js';

test('a customer beside a flood without a key at its own address gets every response', (t) =>
  besideStrangers(t, { kind: 'without a key', connections: 100, from: '127.0.0.1', seconds: 1.5 }));
