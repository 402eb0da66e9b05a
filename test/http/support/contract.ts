import type { Clause } from './clause.js';
import { authenticationClauses } from './contract-authentication.js';
import { limitClauses } from './contract-limits.js';
import { routeClauses } from './contract-routes.js';

/**
 * The clauses that hold for every way to reach the service and that the exported audits lack: those
 * about exact bytes, or about requests that fetch cannot send.
 */
export const CONTRACT: readonly Clause[] = [...routeClauses, ...authenticationClauses, ...limitClauses];
