import type { Order } from './order.js';
import type { OrderBatch, StreamedText } from './store.js';

/** One order as JSON: fields in the order of the specification, int64 to the last digit, ASCII only. */
export function printOrder(order: Order): string {
  let text = `{"id":${order.id}`;
  // `null` is not in the type, but rows of a host's database have it: absent all the same.
  if (order.petId !== undefined && order.petId !== null) text += `,"petId":${order.petId}`;
  if (order.quantity !== undefined && order.quantity !== null) text += `,"quantity":${order.quantity}`;
  if (order.shipDate !== undefined && order.shipDate !== null) text += `,"shipDate":${printString(order.shipDate)}`;
  if (order.complete !== undefined && order.complete !== null) text += `,"complete":${order.complete}`;
  return `${text}}`;
}

/** The orders as one JSON array. */
export function printOrders(orders: readonly Order[]): string {
  return `[${orders.map(printOrder).join(',')}]`;
}

/** A batch as it stands in the array: without brackets, empty for no order. */
export function printBatch(batch: OrderBatch): string;
export function printBatch(batch: OrderBatch | StreamedText): string | Promise<string>;
export function printBatch(batch: OrderBatch | StreamedText): string | Promise<string> {
  if (typeof batch === 'string') return batch;
  return 'version' in batch ? batch.text() : batch.map(printOrder).join(',');
}

function printString(text: string): string {
  return escapeNonAscii(JSON.stringify(text));
}

/** JSON as ASCII, because then a text's length in characters is its length in bytes, and node writes it as latin1. */
export function escapeNonAscii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Reads JSON (RFC 8259) with every integer exact: one without fraction and exponent becomes a bigint, any other number
 * a number. Stricter than `JSON.parse` in one point: an object with the same name twice is refused. Throws a
 * SyntaxError that says where.
 */
export function parseJson(text: string): unknown {
  const reader = new JsonReader(text);
  const value = reader.value();
  reader.end();
  return value;
}

/** Reads a JSON array element by element, with the line on which each begins, so that a mistake in one can be named. */
export function* parseJsonArray(text: string): Generator<{ readonly line: number; readonly value: unknown }> {
  const reader = new JsonReader(text);
  yield* reader.elements();
  reader.end();
}

const WHITE_SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
// A string up to its end or to one escape. The inside is checked by JSON.parse; here only the end is looked for, in steps,
// because one pattern that repeats over all escapes overflows the stack on a long string.
const STRING_PART = /[^"\\]*(?:"|\\.)/sy;
const LITERAL = /true|false|null/y;
const LITERALS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };
const MAX_DEPTH = 100;

class JsonReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  #line = 1;
  #lineStart = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    this.#skipWhiteSpace();
    switch (this.#text[this.#at]) {
      case '{':
        return this.#nested(() => this.#object());
      case '[':
        return this.#nested(() => Array.from(this.elements(), (element) => element.value));
      case '"':
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  end(): void {
    this.#skipWhiteSpace();
    if (this.#at < this.#text.length) this.#fail('unexpected text after the end');
  }

  *elements(): Generator<{ readonly line: number; readonly value: unknown }> {
    this.#expect('[');
    if (this.#take(']')) return;
    do {
      this.#skipWhiteSpace();
      const line = this.#line;
      yield { line, value: this.value() };
    } while (this.#take(','));
    this.#expect(']');
  }

  #object(): Record<string, unknown> {
    const object: Record<string, unknown> = Object.create(null);
    this.#expect('{');
    if (this.#take('}')) return object;
    do {
      this.#skipWhiteSpace();
      const start = this.#at;
      const name = this.#string();
      if (name in object) this.#fail(`the name ${JSON.stringify(name)} comes twice`, start);
      this.#expect(':');
      object[name] = this.value();
    } while (this.#take(','));
    this.#expect('}');
    return object;
  }

  #string(): string {
    const start = this.#at;
    if (this.#text[this.#at++] !== '"') this.#fail('expected a string', start);
    let part: string;
    do part = this.#match(STRING_PART) ?? this.#fail('this string has no end', start);
    while (part.at(-2) === '\\');
    try {
      return JSON.parse(this.#text.slice(start, this.#at));
    } catch {
      return this.#fail('this string has a control character or a bad escape', start);
    }
  }

  #scalar(): unknown {
    const literal = this.#match(LITERAL);
    if (literal !== undefined) return LITERALS[literal];
    const start = this.#at;
    const number = this.#match(NUMBER) ?? this.#fail('expected a value');
    if (!/[.eE]/.test(number)) return BigInt(number);
    const value = Number(number);
    // 9007199254740991.4 must not become an integer by rounding, and with an exponent it cannot be told.
    const isRounded = Number.isInteger(value) && /\.[0-9]*[1-9][0-9]*$/.test(number);
    if (isRounded || (/[eE]/.test(number) && Number.isSafeInteger(value) && Math.abs(value) > 2 ** 50)) {
      this.#fail('write a number this large as an integer without fraction and exponent', start);
    }
    return value;
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) this.#fail(`nested more than ${MAX_DEPTH} deep`);
    const value = read();
    this.#depth--;
    return value;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const token = pattern.exec(this.#text)?.[0];
    if (token !== undefined) this.#at += token.length;
    return token;
  }

  #skipWhiteSpace(): void {
    const space = this.#match(WHITE_SPACE);
    if (!space?.includes('\n')) return;
    this.#line += space.split('\n').length - 1;
    this.#lineStart = this.#at - space.length + space.lastIndexOf('\n') + 1;
  }

  #take(mark: string): boolean {
    this.#skipWhiteSpace();
    if (this.#text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  #expect(mark: string): void {
    if (!this.#take(mark)) this.#fail(`expected ${mark}`);
  }

  #fail(what: string, at = this.#at): never {
    throw new SyntaxError(`${what}, line ${this.#line} column ${at - this.#lineStart + 1}`);
  }
}
