import { Bench } from 'tinybench';
import { isQuick } from '../processes/pace.js';
import { shuffled } from './limiter.js';
import { type AsyncTake, SUBJECTS } from './limiter-rivals.js';

// Runs one limiter in a process of its own, so that the garbage and the compiled code of another
// limiter cannot slow it down. The process sends `ready` to its parent. At the parent's first
// message, it calls the limiter once for each key, and replies with the memory per key and the
// duration of the longest call. At each further message, it measures many calls, and replies with
// the millions of calls per second.

/**
 * How many calls of the limiter are timed together. One call alone is shorter than the timer's
 * resolution.
 */
const BATCH = 1_000;

const [name, count] = process.argv.slice(2);
const subject = SUBJECTS.find((candidate) => candidate.name === name);
if (subject === undefined) throw new TypeError(`${name}: unknown limiter`);
const keys = shuffled(Array.from({ length: Number(count) }, (_, index) => `key_${index}`));
const take = subject.create(keys.length);

// These calls go to another instance of the limiter. Node.js compiles the code during them, so that
// compiling is not measured.
const rehearsal = subject.create(BATCH);
for (let i = 0; i < (isQuick ? 1 : 100) * BATCH; i++) await rehearsal(`rehearsal_${i % BATCH}`);
const isAsync = typeof rehearsal('rehearsal_0') !== 'boolean';

process.once('message', async () => {
  process.send?.(await grow());
  const batch = isAsync ? awaitedBatches(take) : batches();
  process.on('message', async () => {
    const bench = new Bench({ time: isQuick ? 1 : 100, warmup: false }).add('take', batch);
    const [task] = await bench.run();
    const result = task?.result;
    if (result === undefined || !('latency' in result)) throw new Error(`${name}: failed`);
    process.send?.(BATCH / (result.latency.p50 / 1_000) / 1e6);
  });
});
process.once('disconnect', () => process.exit());
process.send?.('ready');

/**
 * Calls the limiter once for each key. Returns the bytes of memory per key, and the duration of the
 * longest call.
 */
async function grow(): Promise<{ readonly bytesPerKey: number; readonly longestMs: number }> {
  const bytesBefore = usedBytes();
  let longestMs = 0;
  for (const key of keys) {
    const startMs = performance.now();
    const taken = take(key);
    if (isAsync) await taken;
    longestMs = Math.max(longestMs, performance.now() - startMs);
  }
  return { bytesPerKey: (usedBytes() - bytesBefore) / keys.length, longestMs };
}

function batches(): () => void {
  let at = 0;
  return () => {
    for (let i = 0; i < BATCH; i++) {
      if (take(keys[at] ?? '') !== true) throw new Error('refused');
      at = at + 1 === keys.length ? 0 : at + 1;
    }
  };
}

function awaitedBatches(takeLater: typeof take | AsyncTake): () => Promise<void> {
  let at = 0;
  return async () => {
    for (let i = 0; i < BATCH; i++) {
      if ((await takeLater(keys[at] ?? '')) !== true) throw new Error('refused');
      at = at + 1 === keys.length ? 0 : at + 1;
    }
  };
}

/** Collects garbage, and returns how many bytes are then in use on the heap and outside it. */
function usedBytes(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
