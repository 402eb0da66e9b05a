import { authenticationClauses } from './contract-authentication.js';
import { limitClauses } from './contract-limits.js';
import { routeClauses } from './contract-routes.js';
import type { Shop } from './shop.js';
import type { Ask } from './ways.js';

/** One clause of the specification or of the decisions where it is silent, checked in a shop of its own. */
export interface Clause {
  /** Stable: the part of the specification, and a number. */
  readonly id: string;
  readonly says: string;
  /** Only where requests arrive as they were sent. */
  readonly verbatim?: true;
  readonly check: (ask: Ask, shop: Shop) => Promise<void>;
}

/**
 * The clauses that hold however the service is reached and that the exported audits do not have: to the last byte, or of requests that
 * fetch cannot send.
 */
export const CONTRACT: readonly Clause[] = [...routeClauses, ...authenticationClauses, ...limitClauses];
