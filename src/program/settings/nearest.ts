/** Returns the most similar of the words, or `undefined` if no word is similar enough. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  const maxDistance = Math.min(2, Math.floor(word.length / 2));
  const [near] = Array.from(words, (candidate) => ({ candidate, distance: distance(word, candidate) }))
    .filter(({ distance }) => distance <= maxDistance)
    .sort((a, b) => a.distance - b.distance);
  return near?.candidate;
}

/** Returns the Levenshtein distance: how many characters must be added, removed or replaced. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [above, character] of [...from].entries()) {
    const next = [above + 1];
    for (let i = 0; i < to.length; i++) {
      const [left = 0, up = 0, diagonal = 0] = [next[i], row[i + 1], row[i]];
      next.push(Math.min(left + 1, up + 1, diagonal + (to[i] === character ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
