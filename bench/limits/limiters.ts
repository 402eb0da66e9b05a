import { nextMessage, startProcess } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { SUBJECTS } from './limiter-rivals.js';

const KEY_COUNTS = isQuick ? [10] : [1, 100, 10_000, 1_000_000];
const ROUNDS = 4;

/**
 * Measures how many requests per second a limiter can check against two windows, and how much
 * memory it needs per key. Compares store-orders with other limiters, and with the least work that
 * any such limiter has to do.
 */
export async function limiters(): Promise<readonly Table[]> {
  const measured = SUBJECTS.map((subject) => ({
    ...subject,
    rates: [] as number[][],
    bytesPerKey: Number.NaN,
    longestMs: Number.NaN,
  }));
  for (const count of KEY_COUNTS) await measure(count);

  async function measure(count: number): Promise<void> {
    const started = await Promise.all(
      measured.map(async (subject) => {
        const child = startProcess('limits/limiter-process.ts', 'any', [subject.name, `${count}`], ['--expose-gc']);
        await nextMessage(child);
        return { subject, child, rates: [] as number[] };
      }),
    );
    for (const { subject, child, rates } of started) {
      child.send('grow');
      // The figures of the most keys are kept. With fewer keys, most of the memory is the fixed size
      // of the limiter.
      const { bytesPerKey, longestMs } = Object(await nextMessage(child));
      subject.bytesPerKey = Number(bytesPerKey);
      subject.longestMs = Number(longestMs);
      subject.rates.push(rates);
    }
    // The first round is a warm-up. Its figures are not used.
    for (let round = isQuick ? 1 : 0; round <= rounds(ROUNDS); round++) {
      for (const { child, rates } of started) {
        child.send('run');
        const rate = Number(await nextMessage(child));
        if (round > 0) rates.push(rate);
      }
    }
    for (const { child } of started) child.disconnect();
  }

  const [floor] = measured;
  const keys = (count: number) => `${whole(count)} key${count > 1 ? 's' : ''}`;
  return [
    {
      title:
        'Limiters with two windows: millions of calls per second, and ratio to the hand-written limiter (least–most)',
      head: [
        'limiter',
        'both or none',
        ...KEY_COUNTS.map(keys),
        'bytes per key, without the key itself',
        'longest call while the keys were added, ms',
      ],
      headlines: [2 + KEY_COUNTS.indexOf(10_000)],
      rows: measured.map(({ name, isAtomic, rates, bytesPerKey, longestMs }) => [
        name,
        isAtomic ? 'yes' : 'no',
        ...rates.map((values, index) => `${median(values).toFixed(2)}, ${ratio(values, floor?.rates[index] ?? [])}`),
        whole(bytesPerKey),
        longestMs.toFixed(1),
      ]),
    },
  ];
}
