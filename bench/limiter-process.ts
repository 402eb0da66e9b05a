import { Bench } from 'tinybench';
import { shuffled } from './limiter.js';
import { SUBJECTS, type Take } from './limiter-rivals.js';
import { isQuick } from './pace.js';

// One limiter in a process of its own, so that none pays for the garbage or the types of another. Says how many bytes a
// key has cost once all are there, and then, for each message, how many million takes it did in a second.

/** Takes per timed call: one take is shorter than what the timer can tell. */
const BATCH = 1_000;

const [name, count] = process.argv.slice(2);
const subject = SUBJECTS.find((candidate) => candidate.name === name);
if (subject === undefined) throw new TypeError(`${name}: no such limiter`);
const keys = shuffled(Array.from({ length: Number(count) }, (_, index) => `key_${index}`));
const take = subject.create(keys.length);

// Code and its feedback are no key's: they are there by then.
const rehearsal = subject.create(BATCH);
for (const key of keys.slice(0, BATCH)) await rehearsal(key);
const bytesBefore = usedBytes();
for (const key of keys) await take(key);
process.send?.((usedBytes() - bytesBefore) / keys.length);

const batch = (await isAsync(take)) ? awaitedBatches() : batches();
process.on('message', async () => {
  const bench = new Bench({ time: isQuick ? 1 : 100, warmup: false }).add('take', batch);
  const [task] = await bench.run();
  const result = task?.result;
  if (result === undefined || !('latency' in result)) throw new Error(`${name}: failed`);
  process.send?.(BATCH / (result.latency.p50 / 1_000) / 1e6);
});
process.once('disconnect', () => process.exit());

function batches(): () => void {
  let at = 0;
  return () => {
    for (let i = 0; i < BATCH; i++) {
      if (take(keys[at] ?? '') !== true) throw new Error('refused');
      at = at + 1 === keys.length ? 0 : at + 1;
    }
  };
}

function awaitedBatches(): () => Promise<void> {
  let at = 0;
  return async () => {
    for (let i = 0; i < BATCH; i++) {
      if ((await take(keys[at] ?? '')) !== true) throw new Error('refused');
      at = at + 1 === keys.length ? 0 : at + 1;
    }
  };
}

async function isAsync(of: Take): Promise<boolean> {
  const taken = of(keys[0] ?? '');
  await taken;
  return typeof taken !== 'boolean';
}

/** On the heap and beside it. */
function usedBytes(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
