/** A mistake on a line of the input, because of which no order is stored. */
export class ImportMistake extends Error {
  override readonly name = 'ImportMistake';
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** Yields the lines of a text, without their line feeds, in groups. */
export async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  // The text after the last line feed. It stays in pieces until its line ends, because a JSON array
  // may be one very long line, which would be searched again with every chunk.
  let rest: string[] = [];
  for await (const chunk of chunks) {
    const [end = '', ...lines] = chunk.split('\n');
    rest.push(end);
    const begin = lines.pop();
    if (begin === undefined) continue;
    yield [rest.join(''), ...lines];
    rest = [begin];
  }
  yield [rest.join('')];
}
