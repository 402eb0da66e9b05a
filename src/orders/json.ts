import { FIELD_NAMES } from './fields.js';
import type { Order } from './order.js';
import type { OrderRecord } from './record.js';

const MEMBERS = FIELD_NAMES.filter((name) => name !== 'id').map((name) => [name, `,"${name}":`] as const);

/**
 * Serialises one order as JSON in ASCII, with exact int64 values, and its fields in the sequence of
 * the specification.
 */
export function serializeOrder(order: Order): string {
  let text = `{"id":${order.id}`;
  for (const [name, member] of MEMBERS) {
    const value = order[name];
    // The type forbids `null`, but a row of the embedding program's database may contain it.
    if (value === undefined || value === null) continue;
    text += member + (typeof value === 'string' ? serializeString(value) : value);
  }
  return `${text}}`;
}

/** Serialises a record as {@link serializeOrder} does, with its status. */
export function serializeRecord(record: OrderRecord): string {
  return `${serializeOrder(record).slice(0, -1)},"status":${serializeString(record.status)}}`;
}

/** Serialises the orders as one JSON array. */
export function serializeOrders(orders: readonly Order[]): string {
  return `[${orders.map(serializeOrder).join(',')}]`;
}

function serializeString(text: string): string {
  return escapeNonAscii(JSON.stringify(text));
}

/**
 * Escapes JSON to ASCII, so that its length in characters is its length in bytes, and Node.js can
 * write it as latin1.
 */
export function escapeNonAscii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Thrown for invalid JSON. Lines and columns count from 1. */
export class JsonSyntaxError extends SyntaxError {
  override readonly name = 'JsonSyntaxError';
  /** The mistake, without its position. */
  readonly reason: string;
  readonly line: number;
  readonly column: number;

  constructor(reason: string, line: number, column: number) {
    super(`${reason}, line ${line} column ${column}`);
    this.reason = reason;
    this.line = line;
    this.column = column;
  }
}

/**
 * Parses JSON (RFC 8259) with every integer exact. A number whose value is an integer (`7`, `7.0`,
 * `0.7e1`) becomes a bigint. Any other number becomes a `number`, or NaN if a double would round it
 * to an integer. Stricter than `JSON.parse`: it rejects an object with a duplicate name. Throws a
 * {@link JsonSyntaxError}.
 */
export function parseJson(text: string): unknown {
  const reader = new JsonReader(text);
  const value = reader.value();
  reader.expectEnd();
  return value;
}

/** Yields the elements of a JSON array, each with the line on which it begins. */
export function* parseJsonArray(text: string): Generator<{ readonly line: number; readonly value: unknown }> {
  const reader = new JsonReader(text);
  let line = 1;
  let countedTo = 0;
  for (const { at, value } of reader.elements()) {
    line += lineFeedsIn(text.slice(countedTo, at));
    countedTo = at;
    yield { line, value };
  }
  reader.expectEnd();
}

function lineFeedsIn(text: string): number {
  return text.split('\n').length - 1;
}

const WHITE_SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// Matches a string up to its end or to one escape. `JSON.parse` checks the content. A single
// pattern that repeats over all escapes would overflow the stack on a long string.
const STRING_PART = /[^"\\]*(?:"|\\.)/sy;
const LITERAL = /true|false|null/y;
/** Much deeper values would overflow the stack. */
const MAX_DEPTH = 100;

class JsonReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    this.#match(WHITE_SPACE);
    switch (this.#text[this.#at]) {
      case '{':
        return this.#nested(() => this.#object());
      case '[':
        return this.#nested(() => Array.from(this.elements(), ({ value }) => value));
      case '"':
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  expectEnd(): void {
    this.#match(WHITE_SPACE);
    if (this.#at < this.#text.length) this.#fail('unexpected text after the JSON value');
  }

  /** Yields the elements of an array, each with the place in the text where it begins. */
  *elements(): Generator<{ readonly at: number; readonly value: unknown }> {
    this.#expect('[');
    if (this.#take(']')) return;
    do {
      this.#match(WHITE_SPACE);
      const at = this.#at;
      yield { at, value: this.value() };
    } while (this.#take(','));
    this.#expect(']');
  }

  #object(): Record<string, unknown> {
    const object: Record<string, unknown> = Object.create(null);
    this.#expect('{');
    if (this.#take('}')) return object;
    do {
      this.#match(WHITE_SPACE);
      const start = this.#at;
      const name = this.#string();
      if (name in object) this.#fail(`the name ${JSON.stringify(name)} appears twice`, start);
      this.#expect(':');
      object[name] = this.value();
    } while (this.#take(','));
    this.#expect('}');
    return object;
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) this.#fail('nested too deeply');
    const value = read();
    this.#depth--;
    return value;
  }

  #string(): string {
    const start = this.#at;
    if (this.#text[this.#at++] !== '"') this.#fail('expected a string', start);
    let part: string;
    do part = this.#match(STRING_PART) ?? this.#fail('unterminated string', start);
    while (part.at(-2) === '\\');
    try {
      return JSON.parse(this.#text.slice(start, this.#at));
    } catch {
      return this.#fail('this string has a control character or an invalid escape', start);
    }
  }

  #scalar(): unknown {
    const literal = this.#match(LITERAL);
    if (literal !== undefined) return JSON.parse(literal);
    return parseNumber(this.#match(NUMBER) ?? this.#fail('expected a value'));
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const token = pattern.exec(this.#text)?.[0];
    if (token !== undefined) this.#at += token.length;
    return token;
  }

  #take(mark: string): boolean {
    this.#match(WHITE_SPACE);
    if (this.#text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  #expect(mark: string): void {
    if (!this.#take(mark)) this.#fail(`expected ${mark}`);
  }

  #fail(what: string, at = this.#at): never {
    const before = this.#text.slice(0, at);
    throw new JsonSyntaxError(what, lineFeedsIn(before) + 1, at - before.lastIndexOf('\n'));
  }
}

const NUMBER_PARTS = /^(-?[0-9]+)(?:\.([0-9]+))?(?:[eE](.+))?$/;
/** The largest exponent of ten that is computed exactly: `1e999999999` would take all memory. */
const MAX_SHIFT = 400;

/** Returns an integer exactly, however it is written. Returns NaN instead of a rounded integer. */
function parseNumber(text: string): bigint | number {
  const [, whole = '', fraction = '', exponent = '0'] = NUMBER_PARTS.exec(text) ?? [];
  const shift = Number(exponent) - fraction.length;
  if (Math.abs(shift) <= MAX_SHIFT) {
    const digits = BigInt(whole + fraction);
    const power = 10n ** BigInt(Math.abs(shift));
    if (shift >= 0) return digits * power;
    if (digits % power === 0n) return digits / power;
  }
  const value = Number(text);
  return Number.isInteger(value) ? Number.NaN : value;
}
