import { nextMessage, startProcess } from './child.js';
import { KEY_COUNTS } from './limiter.js';
import { SUBJECTS } from './limiter-rivals.js';
import { isQuick, rounds } from './pace.js';
import { median, printSpread, ratios, type Table, whole } from './table.js';

const ROUNDS = 4;

/** Takes a second of two windows, beside the least that any such limiter does and beside what others do; and what a key costs. */
export async function limiters(): Promise<readonly Table[]> {
  const counts = isQuick ? KEY_COUNTS.slice(0, 2) : KEY_COUNTS;
  const measured = SUBJECTS.map((subject) => ({ ...subject, rates: [] as number[][], bytes: [] as number[] }));
  for (const count of counts) await measure(count);

  async function measure(count: number): Promise<void> {
    const started = await Promise.all(
      measured.map(async (subject) => {
        const child = startProcess('limiter-process.ts', 'any', [subject.name, `${count}`], ['--expose-gc']);
        subject.bytes.push(Number(await nextMessage(child)));
        subject.rates.push([]);
        return { subject, child };
      }),
    );
    // The first round warms up and does not count.
    for (let round = 0; round <= rounds(ROUNDS); round++) {
      for (const { subject, child } of started) {
        child.send('run');
        const rate = Number(await nextMessage(child));
        if (round > 0) subject.rates.at(-1)?.push(rate);
      }
    }
    for (const { child } of started) child.disconnect();
  }

  const [floor] = measured;
  const head = [
    'limiter',
    'both or none',
    ...counts.map((count) => `${count.toLocaleString('en')} key${count > 1 ? 's' : ''}`),
  ];
  const yesNo = ({ isAtomic }: { isAtomic: boolean }) => (isAtomic ? 'yes' : 'no');
  return [
    {
      title: 'Limiters: million takes a second, a minute and a day window together, and to the floor (least–most)',
      head,
      rows: measured.map((subject) => [
        subject.name,
        yesNo(subject),
        ...subject.rates.map(
          (rates, index) => `${median(rates).toFixed(2)}, ${printSpread(ratios(rates, floor?.rates[index] ?? []))}`,
        ),
      ]),
      chart: {
        name: 'limiter-takes',
        title: 'Million takes a second by the number of keys',
        kind: 'lines',
        x: 'keys',
        y: 'million takes a second',
        scale: 'log',
        points: measured.flatMap(({ name, role, rates }) =>
          rates.map((values, index) => ({ series: name, role, x: counts[index] ?? 0, values })),
        ),
      },
    },
    {
      title: 'Limiters: bytes a key, both windows, on the heap and beside it',
      head: ['limiter', ...counts.slice(1).map((count) => `${count.toLocaleString('en')} keys`)],
      rows: measured.map(({ name, bytes }) => [name, ...bytes.slice(1).map(whole)]),
      chart: {
        name: 'limiter-bytes',
        title: 'Bytes a key by the number of keys',
        kind: 'lines',
        x: 'keys',
        y: 'bytes a key',
        points: measured.flatMap(({ name, role, bytes }) =>
          bytes.slice(1).map((value, index) => ({ series: name, role, x: counts[index + 1] ?? 0, values: [value] })),
        ),
      },
    },
  ];
}
