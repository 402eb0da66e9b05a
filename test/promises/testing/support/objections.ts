import assert from 'node:assert/strict';
import { inspect } from 'node:util';

/** Ways to make a value wrong, by name. `undefined`: this value cannot be wrong in this way. */
export type Flaws<T> = Readonly<Record<string, (value: T, index: number) => T | undefined>>;

/**
 * Runs a case again and again, each time with one value that the implementation returns made wrong
 * in one way. Returns the number of values, and a line for each way that the case notices: its
 * messages, in the order of the values. Of more than 40 values, only the first, the second and the
 * last are made wrong, and of more than 1,000 only the first and the second.
 */
export async function objections<T>(
  flaws: Flaws<T>,
  run: (pass: (value: T) => T) => Promise<void>,
): Promise<readonly string[]> {
  const right: T[] = [];
  await run((value) => {
    right.push(value);
    return value;
  });
  const sampled = [0, 1, right.length - 1].slice(0, right.length > 1_000 ? 2 : 3);
  const candidates = right.length > 40 ? sampled : [...right.keys()];

  /** Makes the n-th value wrong, or every value. Returns what the case says, or '' if it passes. */
  function objectionTo(flaw: Flaws<T>[string], only?: number): Promise<string> {
    let count = 0;
    return run((value) => {
      const index = count++;
      return (only === undefined || only === index ? flaw(value, index) : undefined) ?? value;
    }).then(() => '', summary);
  }

  const lines = [`values: ${right.length}`];
  for (const [name, flaw] of Object.entries(flaws)) {
    const indexes = candidates.filter((index) => flaw(right[index] ?? assert.fail(), index) !== undefined);
    // Most cases ignore most flaws, even if all values have them.
    if (indexes.length > 2 && (await objectionTo(flaw)) === '') continue;
    const said: string[] = [];
    for (const only of indexes) said.push(await objectionTo(flaw, only));
    const objections = said.filter((text) => text !== '');
    if (objections.length > 0) lines.push(`${name}: ${abridged(objections).join(' | ')}`);
  }
  return lines;
}

function summary(error: unknown): string {
  assert.ok(error instanceof Error);
  if (!(error instanceof assert.AssertionError && error.generatedMessage)) return error.message.split('\n')[0] ?? '';
  const [actual, expected] = [error.actual, error.expected].map((value) =>
    inspect(value, { breakLength: Number.POSITIVE_INFINITY, compact: true, maxArrayLength: 4 }).slice(0, 80),
  );
  return `${actual} is not ${expected}`;
}

/** Counts neighbours that are equal. */
function abridged(texts: readonly string[]): readonly string[] {
  const groups: { text: string; count: number }[] = [];
  for (const text of texts) {
    const last = groups.at(-1);
    if (last?.text === text) last.count++;
    else groups.push({ text, count: 1 });
  }
  return groups.map(({ text, count }) => (count === 1 ? text : `${count} × ${text}`));
}
