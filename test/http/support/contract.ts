import type { Clause } from './clause.js';
import { authenticationClauses } from './contract-authentication.js';
import { limitClauses } from './contract-limits.js';
import { routeClauses } from './contract-routes.js';

/**
 * The clauses that hold however the service is reached and that the exported audits do not have: to the last byte, or of requests that
 * fetch cannot send.
 */
export const CONTRACT: readonly Clause[] = [...routeClauses, ...authenticationClauses, ...limitClauses];
