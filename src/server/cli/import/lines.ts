import { getRandomValues } from 'node:crypto';
import type { OrderId } from '../../../orders/index.js';

/** How many orders each of the `#chunks` of `OrderLines` holds. */
const CHUNK = 2 ** 14;
/** The hash table in `OrderLines` grows when more than this fraction of it is in use. */
const FULLEST = 0.7;

/**
 * Remembers on which line each order begins. An order takes 12 bytes while the ids ascend, as in an
 * export, and 18 to 24 bytes otherwise. In a Map it would take 100 bytes.
 */
export class OrderLines {
  /**
   * One entry for each order, in chunks. An entry is three numbers: the two halves of the id, and
   * the line.
   */
  readonly #chunks: Int32Array[] = [];
  #count = 0;
  /** The id that was added last. Unused once the hash table below exists. */
  #last: OrderId | undefined;
  /**
   * A hash table that finds the entry of an id. An element is 0 if it is free, otherwise the number
   * of an entry, counted from 1. The search for an id begins at the element to which the id hashes.
   * It goes on to the next elements until it finds the id or a free element.
   *
   * The table is built at the first `get`, or at the first id that is not greater than the one
   * before. Until then, no id can repeat, so the table is not needed.
   */
  #slots = new Uint32Array(0);
  /**
   * The random numbers of the hash: 256 for each of the 8 bytes of an id. With fixed numbers, an
   * attacker could make a file whose ids collide.
   */
  readonly #random = getRandomValues(new Uint32Array(8 * 256));
  readonly #id = new BigInt64Array(1);
  readonly #halves = new Int32Array(this.#id.buffer);

  /** Adds an order. If its id was added before, returns the line of that earlier order. */
  add(id: OrderId, line: number): number | undefined {
    if (this.#slots.length === 0) {
      if (this.#last === undefined || id > this.#last) {
        this.#last = id;
        this.#append(id, line);
        return undefined;
      }
      this.#index();
    }
    const slot = this.#find(id);
    const place = this.#slots[slot] ?? 0;
    if (place > 0) return this.#part(place - 1, 2);
    this.#append(id, line);
    this.#slots[slot] = this.#count;
    if (this.#count > FULLEST * this.#slots.length) this.#index();
    return undefined;
  }

  get(id: OrderId): number | undefined {
    if (this.#slots.length === 0) this.#index();
    const place = this.#slots[this.#find(id)] ?? 0;
    return place === 0 ? undefined : this.#part(place - 1, 2);
  }

  #append(id: OrderId, line: number): void {
    const at = 3 * (this.#count++ % CHUNK);
    if (at === 0) this.#chunks.push(new Int32Array(3 * CHUNK));
    const chunk = this.#chunks.at(-1);
    if (chunk === undefined) return;
    this.#id[0] = id;
    chunk[at] = this.#halves[0] ?? 0;
    chunk[at + 1] = this.#halves[1] ?? 0;
    chunk[at + 2] = line;
  }

  #part(entry: number, part: 0 | 1 | 2): number {
    return this.#chunks[Math.floor(entry / CHUNK)]?.[3 * (entry % CHUNK) + part] ?? 0;
  }

  /** Returns the slot that holds an id, or the free slot in which it belongs. */
  #find(id: OrderId): number {
    this.#id[0] = id;
    const low = this.#halves[0] ?? 0;
    const high = this.#halves[1] ?? 0;
    const slots = this.#slots;
    let slot = this.#firstSlot(low, high);
    for (;;) {
      const place = slots[slot] ?? 0;
      if (place === 0 || (this.#part(place - 1, 0) === low && this.#part(place - 1, 1) === high)) return slot;
      slot = (slot + 1) % slots.length;
    }
  }

  /**
   * Returns the slot that an id hashes to. With tabulation hashing, linear probing takes constant
   * time on average (Pătraşcu and Thorup, "The Power of Simple Tabulation Hashing").
   */
  #firstSlot(low: number, high: number): number {
    let hash = 0;
    for (let byte = 0; byte < 4; byte++) {
      const ofLow = this.#random[256 * byte + ((low >>> (8 * byte)) & 0xff)] ?? 0;
      const ofHigh = this.#random[256 * (byte + 4) + ((high >>> (8 * byte)) & 0xff)] ?? 0;
      hash ^= ofLow ^ ofHigh;
    }
    return hash >>> (Math.clz32(this.#slots.length) + 1);
  }

  /** Puts all entries into a new hash table. It is larger than the old one if necessary. */
  #index(): void {
    let length = Math.max(1_024, this.#slots.length);
    while (this.#count > FULLEST * length) length *= 2;
    this.#slots = new Uint32Array(length);
    for (let entry = 0; entry < this.#count; entry++) {
      let slot = this.#firstSlot(this.#part(entry, 0), this.#part(entry, 1));
      while (this.#slots[slot] !== 0) slot = (slot + 1) % this.#slots.length;
      this.#slots[slot] = entry + 1;
    }
  }
}
