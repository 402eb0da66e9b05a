import { ORDER_FIELDS } from '../../../orders/record.js';

const [TAB, RETURN, SPACE, QUOTE, COMMA, MINUS, ZERO, COLON, BACKSLASH, OPEN, CLOSE] = [
  0x09, 0x0d, 0x20, 0x22, 0x2c, 0x2d, 0x30, 0x3a, 0x5c, 0x7b, 0x7d,
] as const;

/** A double holds every integer of at most this many digits exactly. */
const EXACT_DIGITS = 15;
/** No int64 has more digits than this. */
const MOST_DIGITS = 19;

/**
 * Reads simple lines many times as fast as `parseJson` does. A simple line holds one flat object
 * with known names in any sequence, each at most once. Its values are integers, strings without
 * escapes, `true` and `false`.
 */
export class PlainJson {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Returns the object in this part of the text as `parseJson` would, except that an integer of at
   * most {@link EXACT_DIGITS} digits is a number instead of a bigint. Returns `undefined` if the
   * part is not a simple line.
   */
  read(start: number, end: number): object | undefined {
    const value: Partial<Record<(typeof ORDER_FIELDS)[number], bigint | number | string | boolean>> = {};
    this.#at = start;
    if (!this.#take(OPEN)) return undefined;
    let expected = 0;
    do {
      this.#skipWhiteSpace();
      const place = this.#place(expected);
      const name = ORDER_FIELDS[place];
      if (name === undefined || value[name] !== undefined || !this.#take(COLON)) return undefined;
      this.#skipWhiteSpace();
      const read = this.#value();
      if (read === undefined) return undefined;
      value[name] = read;
      expected = place + 1;
    } while (this.#take(COMMA));
    if (!this.#take(CLOSE)) return undefined;
    this.#skipWhiteSpace();
    return this.#at === end ? value : undefined;
  }

  /**
   * Skips the name at the current position, and returns its index in `NAMES`, or -1 if it is
   * unknown. Tries the index `expected` first.
   */
  #place(expected: number): number {
    for (let tried = 0; tried < NAMES.length; tried++) {
      const place = (expected + tried) % NAMES.length;
      if (this.#skip(NAMES[place] ?? '')) return place;
    }
    return -1;
  }

  #value(): bigint | number | string | boolean | undefined {
    if (this.#text.charCodeAt(this.#at) === QUOTE) return this.#string();
    const integer = this.#integer();
    if (integer !== undefined) return integer;
    if (this.#skip('true')) return true;
    return this.#skip('false') ? false : undefined;
  }

  #string(): string | undefined {
    const start = ++this.#at;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === QUOTE) return this.#text.slice(start, this.#at++);
      // At the end of the text, `code` is NaN. The first condition is written with `!` because it
      // must hold for NaN too.
      if (!(code >= SPACE) || code === BACKSLASH) return undefined;
      this.#at++;
    }
  }

  #integer(): bigint | number | undefined {
    const isNegative = this.#text.charCodeAt(this.#at) === MINUS;
    const start = isNegative ? ++this.#at : this.#at;
    let value = 0;
    for (;;) {
      const digit = this.#text.charCodeAt(this.#at) - ZERO;
      if (!(digit >= 0 && digit <= 9)) break;
      value = 10 * value + digit;
      this.#at++;
    }
    const digits = this.#at - start;
    if (digits === 0 || digits > MOST_DIGITS || (digits > 1 && this.#text.charCodeAt(start) === ZERO)) return undefined;
    if (digits <= EXACT_DIGITS) return isNegative ? 0 - value : value;
    const exact = BigInt(this.#text.slice(start, this.#at));
    return isNegative ? -exact : exact;
  }

  #skipWhiteSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== SPACE && code !== TAB && code !== RETURN) return;
      this.#at++;
    }
  }

  #skip(expected: string): boolean {
    if (!this.#text.startsWith(expected, this.#at)) return false;
    this.#at += expected.length;
    return true;
  }

  #take(mark: number): boolean {
    this.#skipWhiteSpace();
    if (this.#text.charCodeAt(this.#at) !== mark) return false;
    this.#at++;
    return true;
  }
}

const NAMES = ORDER_FIELDS.map((name) => JSON.stringify(name));
