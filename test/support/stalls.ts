import assert from 'node:assert/strict';

/**
 * Reads the report of a process that was watched by `event-loop-stalls.mjs`: its longest stall in
 * each tenth of a second.
 */
export function readStalls(stderr: string): readonly number[] {
  const line = stderr.split('\n').find((text) => text.startsWith('{"longestMs"')) ?? '{}';
  const { longestMs } = JSON.parse(line);
  assert.ok(Array.isArray(longestMs), 'the server measured its event loop');
  return longestMs.map(Number);
}
