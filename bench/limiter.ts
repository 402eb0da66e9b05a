import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createMemoryLimiter, type Decision } from 'store-orders/limiter';
import { PLENTY } from './servers/plenty.js';
import { median, ratio, type Table } from './table.js';

const KEY_COUNTS = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];
/** Takes per slice: a slice is so short that few are interrupted, and candidates take turns by it. */
const SLICE = 10_000;
const ROUNDS = 100;

/** Takes a key's tokens; false if it is refused. */
export type Take = (key: string) => boolean;

/** Takes a second of two windows together, beside the least that any such limiter does. */
export async function limiter(): Promise<Table> {
  return {
    title: 'Limiter: million takes a second, a minute and a day window together',
    head: [
      'keys',
      'bound: one Map look-up, two windows in 24 bytes, one clock read',
      '`take`',
      'ratio (least–most)',
      '`take`, decision kept',
      'ratio (least–most)',
    ],
    rows: KEY_COUNTS.map(takesPerSecond),
  };
}

/** Bytes per key at a million keys, and the longest take on the way there; each limiter in a process of its own. */
export async function limiterMemory(): Promise<Table> {
  const rows: string[][] = [];
  for (const candidate of ['bound', 'take']) {
    const file = fileURLToPath(new URL('limiter-memory.ts', import.meta.url));
    const child = fork(file, [candidate], { execArgv: ['--import', 'tsx', '--expose-gc'] });
    const [{ bytesPerKey, longestMs }] = await once(child, 'message');
    rows.push([candidate, bytesPerKey.toFixed(1), longestMs.toFixed(1)]);
  }
  return {
    title: 'Limiter: memory at a million keys, both windows in use',
    head: ['limiter', 'bytes per key, without the key itself', 'longest take while growing, ms'],
    rows,
  };
}

function takesPerSecond(count: number): string[] {
  const keys = shuffled(Array.from({ length: count }, (_, index) => `key_${index}`));
  const takes = [bound(), ours(), ours({ isKept: true })];
  const nsPerTake: number[][] = takes.map(() => []);
  const slices = takes.map((take) => slicesOf(keys, take));
  // Every key has its place, and every function its final code, before the clock runs.
  for (const slice of slices) for (let n = 0; n < Math.max(count, 300_000); n += SLICE) slice();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, slice] of slices.entries()) nsPerTake[index]?.push(slice());
  }
  const [boundNs = [], takeNs = [], keptNs = []] = nsPerTake;
  const millions = (ns: readonly number[]) => (1_000 / median(ns)).toFixed(2);
  const rate = (ns: readonly number[]) => ns.map((one) => 1_000 / one);
  return [
    count.toLocaleString('en'),
    millions(boundNs),
    millions(takeNs),
    ratio(rate(takeNs), rate(boundNs)),
    millions(keptNs),
    ratio(rate(keptNs), rate(boundNs)),
  ];
}

/** Takes the keys in turn; answers the nanoseconds of each take. */
function slicesOf(keys: readonly string[], take: Take): () => number {
  let at = 0;
  return () => {
    const begin = process.hrtime.bigint();
    for (let n = 0; n < SLICE; n++) {
      if (!take(keys[at] ?? '')) throw new Error('refused');
      at = at + 1 === keys.length ? 0 : at + 1;
    }
    return Number(process.hrtime.bigint() - begin) / SLICE;
  };
}

/** A decision that is kept cannot be optimized away. */
const kept: { decision?: Decision } = {};

export function ours({ isKept = false } = {}): Take {
  const limiter = createMemoryLimiter();
  if (!isKept) return (key) => limiter.take(key, PLENTY).allowed;
  return (key) => {
    kept.decision = limiter.take(key, PLENTY);
    return kept.decision.allowed;
  };
}

/** Hand-written for exactly this plan: no cost, no ban, no other plan, no sweep, no decision, nothing for headers. */
export function bound(): Take {
  const { performance } = globalThis;
  const { timeOrigin } = performance;
  const slots = new Map<string, number>();
  let ends = new Float64Array(3 * 1_024);
  let taken = new Int32Array(ends.buffer);
  return (key) => {
    const now = Math.floor(timeOrigin + performance.now());
    let slot = slots.get(key);
    if (slot === undefined) {
      slot = slots.size;
      slots.set(key, slot);
      if (slot * 3 === ends.length) {
        const larger = new Float64Array(ends.length * 2);
        larger.set(ends);
        ends = larger;
        taken = new Int32Array(ends.buffer);
      }
    }
    const end = slot * 3;
    const count = slot * 6 + 4;
    const minuteOver = (ends[end] ?? 0) <= now;
    const dayOver = (ends[end + 1] ?? 0) <= now;
    const minute = (minuteOver ? 0 : (taken[count] ?? 0)) + 1;
    const day = (dayOver ? 0 : (taken[count + 1] ?? 0)) + 1;
    if (minute > 1e9 || day > 2e9) return false;
    taken[count] = minute;
    taken[count + 1] = day;
    if (minuteOver) ends[end] = now + 60_000;
    if (dayOver) ends[end + 1] = now + 86_400_000;
    return true;
  };
}

/** The same order at every run. */
function shuffled(keys: string[]): string[] {
  let seed = 42;
  for (let i = keys.length - 1; i > 0; i--) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    const j = seed % (i + 1);
    [keys[i], keys[j]] = [keys[j] ?? '', keys[i] ?? ''];
  }
  return keys;
}
