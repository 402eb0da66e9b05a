import type { BucketIdentity, KeyState } from '../limiter.js';
import { expiresAtMs, isSameBucket } from '../rule.js';
import type { Instant } from '../token-bucket.js';
import { PackedDecision } from './packed-decision.js';
import { MAX_PACKED_TAKEN, type PackedPlan } from './packed-plan.js';

/** The key of the bucket that new addresses share while the pool is full. No address equals it. */
const OVERFLOW = '*';

/**
 * How many stored states are checked for expiry when a new key arrives. With two checks for each
 * new key, all states are checked in turn even while the pool grows.
 */
const SWEPT_PER_NEWCOMER = 2;

// A slot is 24 bytes with one key's state: the ends of two windows, then the tokens taken in each.
// A free slot contains the number of the next free slot. The windows of a slot are listed in its
// shape. A slot reference combines the numbers of a slot and of a shape in one integer, so that a
// state is found by one look-up, and no object is created. A `Map` holds at most 2^24 keys, so the
// number of a slot always fits.
const SHAPE_BITS = 5;
const SHAPE_MASK = 2 ** SHAPE_BITS - 1;
const SLOT_BYTES = 24;
const NO_SLOT = -1;
const UNPACKED = 0;
const NO_WINDOW_MS = Number.NEGATIVE_INFINITY;

/**
 * Stores the states of at most `max` keys. Expired states are removed a few at a time when new keys
 * arrive, so there is no timer and no pause. A state that has not expired is never removed.
 * Instead, new keys share one bucket while the pool is full.
 *
 * A state is packed into bytes if it has one or two interval windows, and neither refusals nor a
 * ban. Any other state is kept as an object.
 */
export class BucketPool {
  readonly #max: number;
  readonly #slotRefs = new Map<string, number>();
  #sweepCursor = this.#slotRefs.entries();
  /** The shape with the number n is at index n − 1. */
  readonly #shapes: (readonly BucketIdentity[])[] = [];
  readonly #unpacked = new Map<number, KeyState>();
  // `#ends` and `#taken` are views of the same bytes.
  #ends = new Float64Array(0);
  #taken = new Int32Array(0);
  #slots = 0;
  #freeSlot = NO_SLOT;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Takes tokens from a packed state and returns the same decision as `decide` in rule.ts, but
   * faster. Changes nothing and returns `undefined` if only `decide` can decide. This is the case if
   * the key has no state or one with other windows, if a window refuses the request, if the clock has
   * stepped back, or if a calendar window (`align: 'utc'`) begins.
   */
  charge(key: string, packed: PackedPlan, cost: number, instant: Instant): PackedDecision | undefined {
    const slotRef = this.#slotRefs.get(key);
    if (slotRef === undefined || (slotRef & SHAPE_MASK) !== packed.fastShape) return undefined;
    if ((cost | 0) !== cost || cost < 1) return undefined;
    const { nowMs } = instant;
    const ends = this.#ends;
    const taken = this.#taken;
    const endIndex = (slotRef >>> SHAPE_BITS) * 3;
    const takenIndex = endIndex * 2 + 4;

    let firstTaken = cost;
    let firstLeftMs = (ends[endIndex] ?? 0) - nowMs;
    if (firstLeftMs > 0) firstTaken += taken[takenIndex] ?? 0;
    else firstLeftMs = packed.firstFreshMs;
    if (firstTaken > packed.firstQuota || firstLeftMs > packed.firstWindowMs) return undefined;

    let secondTaken = cost;
    let secondLeftMs = (ends[endIndex + 1] ?? 0) - nowMs;
    if (secondLeftMs > 0) secondTaken += taken[takenIndex + 1] ?? 0;
    else secondLeftMs = packed.secondFreshMs;
    if (secondTaken > packed.secondQuota || secondLeftMs > packed.secondWindowMs) return undefined;

    ends[endIndex] = nowMs + firstLeftMs;
    ends[endIndex + 1] = nowMs + secondLeftMs;
    taken[takenIndex] = firstTaken;
    taken[takenIndex + 1] = secondTaken;
    return new PackedDecision(key, cost, packed, instant, firstTaken, firstLeftMs | 0, secondTaken, secondLeftMs | 0);
  }

  /**
   * Returns the key under which the state is stored: `key` itself, or the key of the shared bucket
   * if `key` is new and the pool is full.
   */
  keyOf(key: string, nowMs: number): string {
    if (this.#slotRefs.has(key)) return key;
    this.#sweep(nowMs);
    return this.#slotRefs.size < this.#max ? key : OVERFLOW;
  }

  /**
   * Returns the state of the bucket that new keys share while the pool is full, if that bucket is
   * in use. A key that later gets a bucket of its own starts with a copy. If it started with a full
   * bucket, a request could pass before the `Retry-After` of the key has ended.
   */
  sharedState(): KeyState | undefined {
    return this.#max < Number.POSITIVE_INFINITY ? this.get(OVERFLOW) : undefined;
  }

  get(key: string): KeyState | undefined {
    const slotRef = this.#slotRefs.get(key);
    return slotRef === undefined ? undefined : this.#read(slotRef);
  }

  /**
   * Stores the state of the key. The state is packed if it fits `shape`, otherwise it is kept as an
   * object. If the state is `undefined`, removes the key.
   */
  set(key: string, state: KeyState | undefined, shape: number = this.shapeOf(state?.buckets ?? [])): void {
    const oldSlotRef = this.#slotRefs.get(key);
    if (state === undefined) {
      if (oldSlotRef !== undefined) this.#forget(key, oldSlotRef);
      return;
    }
    const slot = oldSlotRef === undefined ? this.#newSlot() : oldSlotRef >>> SHAPE_BITS;
    const isPacked = this.#pack(slot, state, shape);
    if (isPacked) this.#unpacked.delete(slot);
    else this.#unpacked.set(slot, state);
    this.#slotRefs.set(key, (slot << SHAPE_BITS) | (isPacked ? shape : UNPACKED));
  }

  /** Returns the number of the shape of these buckets, or 0 if they cannot be packed. */
  shapeOf(buckets: readonly BucketIdentity[]): number {
    const [first] = buckets;
    if (first === undefined || buckets.length > 2 || buckets.some(({ refill }) => refill !== 'interval'))
      return UNPACKED;
    const known = this.#shapes.findIndex(
      (shape) =>
        shape.length === buckets.length && shape.every((one, index) => isSameBucket(one, buckets[index] ?? first)),
    );
    if (known >= 0) return known + 1;
    if (this.#shapes.length === SHAPE_MASK) return UNPACKED;
    return this.#shapes.push(buckets.map(({ name, windowMs, refill }) => ({ name, windowMs, refill })));
  }

  #read(slotRef: number): KeyState {
    const slot = slotRef >>> SHAPE_BITS;
    const shape = this.#shapes[(slotRef & SHAPE_MASK) - 1];
    if (shape === undefined) return this.#unpacked.get(slot) ?? { buckets: [] };
    const buckets = shape.map(({ name, windowMs, refill }, index) => {
      const taken = this.#taken[slot * 6 + 4 + index] ?? 0;
      return { name, windowMs, refill, taken, atMs: this.#ends[slot * 3 + index] ?? 0 };
    });
    return { buckets: buckets.filter(({ taken }) => taken > 0) };
  }

  /** Writes the state into the slot. Returns false if it does not fit the shape. */
  #pack(slot: number, { buckets, ban }: KeyState, shapeNumber: number): boolean {
    const shape = this.#shapes[shapeNumber - 1];
    if (shape === undefined || ban !== undefined) return false;
    let found = 0;
    for (let index = 0; index < 2; index++) {
      const identity = shape[index];
      const bucket = identity && buckets.find((other) => isSameBucket(identity, other));
      if (bucket !== undefined) {
        if (bucket.taken > MAX_PACKED_TAKEN) return false;
        found++;
      }
      this.#ends[slot * 3 + index] = bucket?.atMs ?? NO_WINDOW_MS;
      this.#taken[slot * 6 + 4 + index] = bucket?.taken ?? 0;
    }
    return found === buckets.length;
  }

  #newSlot(): number {
    if (this.#freeSlot !== NO_SLOT) {
      const slot = this.#freeSlot;
      this.#freeSlot = this.#taken[slot * 6 + 4] ?? NO_SLOT;
      return slot;
    }
    if (this.#slots * 3 === this.#ends.length) {
      const bytes = new ArrayBuffer(Math.max(64, this.#slots * 2) * SLOT_BYTES);
      const ends = new Float64Array(bytes);
      ends.set(this.#ends);
      this.#ends = ends;
      this.#taken = new Int32Array(bytes);
    }
    return this.#slots++;
  }

  #forget(key: string, slotRef: number): void {
    const slot = slotRef >>> SHAPE_BITS;
    this.#slotRefs.delete(key);
    this.#unpacked.delete(slot);
    this.#taken[slot * 6 + 4] = this.#freeSlot;
    this.#freeSlot = slot;
  }

  #sweep(nowMs: number): void {
    for (let step = 0; step < SWEPT_PER_NEWCOMER; step++) {
      const { value, done } = this.#sweepCursor.next();
      if (done) {
        this.#sweepCursor = this.#slotRefs.entries();
        return;
      }
      const [key, slotRef] = value;
      if (this.#expiresAtMs(slotRef) <= nowMs) this.#forget(key, slotRef);
    }
  }

  #expiresAtMs(slotRef: number): number {
    if ((slotRef & SHAPE_MASK) === UNPACKED) return expiresAtMs(this.#read(slotRef));
    const firstIndex = (slotRef >>> SHAPE_BITS) * 3;
    return Math.max(this.#ends[firstIndex] ?? 0, this.#ends[firstIndex + 1] ?? 0);
  }
}
