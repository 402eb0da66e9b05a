import { createMemoryLimiter } from 'store-orders/limiter';
import { Bench } from 'tinybench';
import { PLENTY } from './servers/plenty.js';
import type { Table } from './table.js';

export const KEY_COUNTS = [1, 1_000, 100_000, 1_000_000];
/** Takes per timed call: one take is shorter than what the timer can tell. */
const BATCH = 1_000;

/** Takes a second of two windows together, beside the least that any such limiter does. */
export async function limiter(): Promise<Table> {
  const rows: string[][] = [];
  for (const count of KEY_COUNTS) {
    const keys = shuffled(Array.from({ length: count }, (_, index) => `key_${index}`));
    const bench = new Bench({ time: 1_000, warmupTime: 200 });
    bench.add('floor', batches(keys, floor()));
    const ours = createMemoryLimiter();
    bench.add(
      'take',
      batches(keys, (key) => ours.take(key, PLENTY).allowed),
    );
    await bench.run();
    const [floorRate = Number.NaN, takeRate = Number.NaN] = bench.tasks.map(({ result }) =>
      'latency' in result ? BATCH / (result.latency.p50 / 1_000) / 1e6 : Number.NaN,
    );
    rows.push([
      count.toLocaleString('en'),
      floorRate.toFixed(2),
      takeRate.toFixed(2),
      (takeRate / floorRate).toFixed(2),
    ]);
  }
  return {
    title: 'Limiter: million takes a second, a minute and a day window together',
    head: ['keys', 'floor: one Map look-up, four numbers', '`take`', 'ratio'],
    rows,
  };
}

function batches(keys: readonly string[], take: (key: string) => boolean): () => void {
  let at = 0;
  return () => {
    for (let i = 0; i < BATCH; i++) {
      if (!take(keys[at] ?? '')) throw new Error('refused');
      at = at + 1 === keys.length ? 0 : at + 1;
    }
  };
}

/** Hand-written for exactly this plan: no ban, no decision, no headers. */
export function floor(): (key: string) => boolean {
  const slots = new Map<string, number>();
  let state = new Float64Array(4 * 1_024);
  return (key) => {
    const now = Math.floor(performance.timeOrigin + performance.now());
    let slot = slots.get(key);
    if (slot === undefined) {
      slot = slots.size * 4;
      slots.set(key, slot);
      if (slot >= state.length) {
        const larger = new Float64Array(state.length * 2);
        larger.set(state);
        state = larger;
      }
    }
    const minuteOver = (state[slot + 1] ?? 0) <= now;
    const dayOver = (state[slot + 3] ?? 0) <= now;
    const minute = minuteOver ? 0 : (state[slot] ?? 0);
    const day = dayOver ? 0 : (state[slot + 2] ?? 0);
    if (minute + 1 > 1e12 || day + 1 > 1e13) return false;
    state[slot] = minute + 1;
    state[slot + 2] = day + 1;
    if (minuteOver) state[slot + 1] = now + 60_000;
    if (dayOver) state[slot + 3] = now + 86_400_000;
    return true;
  };
}

/** The same order at every run. */
export function shuffled(keys: string[]): string[] {
  let seed = 42;
  for (let i = keys.length - 1; i > 0; i--) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    const j = seed % (i + 1);
    [keys[i], keys[j]] = [keys[j] ?? '', keys[i] ?? ''];
  }
  return keys;
}
