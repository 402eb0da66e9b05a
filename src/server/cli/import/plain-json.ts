const LINE_FEED = 0x0a;

/**
 * Parses an object with `JSON.parse`, which is ten times as fast as `parseJson`, if both are
 * certain to return the same: no number is long or has an exponent, and no name is repeated.
 * Otherwise returns `undefined`. `quotes` is the count of {@link createQuoteCounter}.
 */
export function parsePlain(text: string, quotes: number): object | undefined {
  if (quotes === NOT_PLAIN) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The caller parses it again with `parseJson`, whose error has the position.
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  let expected = 0;
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null) return undefined;
    expected += typeof member === 'string' ? 4 : 2;
  }
  return quotes === expected ? value : undefined;
}

const NOT_PLAIN = -1;
/**
 * The most digits of a plain number. A double keeps 15 digits, so it does not round a shorter
 * fraction to an integer.
 */
const LONGEST_NUMBER = 15;

/**
 * Returns a function that counts the quotes of the next line of the block at each call. It returns
 * {@link NOT_PLAIN} for a line with an escape, an exponent or a long number. Scanning the bytes of
 * a block is ten times as fast as scanning the characters of strings.
 */
export function createQuoteCounter(block: Buffer): () => number {
  let at = 0;
  return () => {
    let quotes = 0;
    let digits = 0;
    let isPlain = true;
    for (; at < block.length; at++) {
      const byte = block[at] ?? 0;
      if (byte === LINE_FEED) break;
      if (byte === 0x22) quotes++;
      if ((byte >= 0x30 && byte <= 0x39) || byte === 0x2e) {
        digits++;
        if (digits > LONGEST_NUMBER) isPlain = false;
      } else {
        // A backslash begins an escape. An `e` after a digit begins an exponent.
        if (byte === 0x5c || (digits > 0 && (byte | 0x20) === 0x65)) isPlain = false;
        digits = 0;
      }
    }
    at++;
    return isPlain ? quotes : NOT_PLAIN;
  };
}
