import type { Clause } from './clause.js';
import { authenticationClauses } from './contract-authentication.js';
import { limitClauses } from './contract-limits.js';
import { routeClauses } from './contract-routes.js';

/**
 * The clauses that hold for every way to reach the service, and that the exported audits do not
 * check, for example because fetch cannot send the requests.
 */
export const CONTRACT: readonly Clause[] = [...routeClauses, ...authenticationClauses, ...limitClauses];
