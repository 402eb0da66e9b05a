import type { Shop } from './shop.js';
import type { Ask } from './ways.js';

/**
 * One clause of the specification, or of the decisions where it is silent, checked in a shop of its
 * own.
 */
export interface Clause {
  /** Stable: the part of the specification, and a number. */
  readonly id: string;
  readonly says: string;
  /** Set if the clause needs requests that arrive exactly as they were sent. */
  readonly verbatim?: true;
  readonly check: (ask: Ask, shop: Shop) => Promise<void>;
}
