import { Bench } from 'tinybench';
import { isQuick } from '../processes/pace.js';
import { shuffled } from './limiter.js';
import { type AsyncTake, SUBJECTS } from './limiter-rivals.js';

// Runs one limiter in a process of its own, so that the garbage and the compiled code of another
// limiter cannot slow it down. Reports when it is ready. At the first message it takes from every
// key once, and reports the cost. At each further message it reports how many million takes it did
// in a second.

/** The number of takes in a timed call. One take is shorter than the timer's resolution. */
const BATCH = 1_000;

const [name, count] = process.argv.slice(2);
const subject = SUBJECTS.find((candidate) => candidate.name === name);
if (subject === undefined) throw new TypeError(`${name}: no such limiter`);
const keys = shuffled(Array.from({ length: Number(count) }, (_, index) => `key_${index}`));
const take = subject.create(keys.length);

// Compiles the code beforehand, so that compiling does not count as a cost of the keys.
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
 * Takes once from each key. Returns the bytes of memory per key, and the time of the longest take.
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

/** Returns the bytes in use on the heap and outside it. */
function usedBytes(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
