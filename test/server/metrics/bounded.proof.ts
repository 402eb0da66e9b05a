import { test } from 'node:test';
import { assertBounded } from './support/bounded.js';

test('/metrics does not grow with a million different ids, keys, paths, plans and addresses', () =>
  assertBounded(400_000, 1_000_000));
