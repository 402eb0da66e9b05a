import { test } from 'node:test';
import { besideStrangers } from './support/neighbours.js';

test('customers beside a flood without a key get every response', (t) =>
  besideStrangers(t, { kind: 'without a key', connections: 50, seconds: 0.7 }));
