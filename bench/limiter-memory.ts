import { bound, ours } from './limiter.js';

/** Run with --expose-gc, for the limiter that the argument names. */
const take = process.argv[2] === 'bound' ? bound() : ours();
const keys = Array.from({ length: 1_000_000 }, (_, index) => `key_${index}`);
// What the functions themselves need is not the keys'.
for (let n = 0; n < 100_000; n++) take('first');

function usedBytes(): number {
  for (let n = 0; n < 3; n++) globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const before = usedBytes();
let longestMs = 0;
for (const key of keys) {
  const begin = performance.now();
  take(key);
  longestMs = Math.max(longestMs, performance.now() - begin);
}
const bytesPerKey = (usedBytes() - before) / keys.length;
process.send?.({ bytesPerKey, longestMs });
// Used once more, so that nothing of it is collected before it is measured.
if (!take(keys[0] ?? '')) throw new Error('refused');
