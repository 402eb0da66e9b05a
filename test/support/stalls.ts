import assert from 'node:assert/strict';

/**
 * Returns the longest stall of the event loop in each tenth of a second, in ms. `stderr` is the
 * output of a process that preloaded `event-loop-stalls.mjs`.
 */
export function readStalls(stderr: string): readonly number[] {
  const line = stderr.split('\n').find((text) => text.startsWith('{"longestMs"')) ?? '{}';
  const { longestMs } = JSON.parse(line);
  assert.ok(Array.isArray(longestMs), 'the output of the server contains the stalls of its event loop');
  return longestMs.map(Number);
}
