import { test } from 'node:test';
import { assertBounded } from './support/bounded.js';

test('a million different ids, keys, paths, plans and addresses leave /metrics the same size', () =>
  assertBounded(400_000, 1_000_000));
