import type { Shop } from './shop.js';
import type { Ask } from './ways.js';

/**
 * One clause of the specification, or one decision about what the specification leaves open. Each
 * is checked on a new service with a new store.
 */
export interface Clause {
  /** A part of the specification and a keyword, such as `5-missing`. Ids never change. */
  readonly id: string;
  readonly says: string;
  /** Set if the clause needs requests that arrive exactly as they were sent. */
  readonly verbatim?: true;
  readonly check: (ask: Ask, shop: Shop) => Promise<void>;
}
