import { type Audit, type AuditTarget, toAudit } from './audit.js';
import { authenticationClauses } from './authentication.js';
import { limitClauses } from './limits.js';
import { orderClauses } from './orders.js';
import { routeClauses } from './routes.js';

/**
 * Returns the clauses of the specification as audits, to be run one after the other. They cancel
 * and replace orders. With `issueKey` and `store`, run them only against a test system.
 */
export function serviceAudits(target: AuditTarget): Audit[] {
  for (const name of ['url', 'apiKey'] as const) {
    if (typeof target?.[name] !== 'string') throw new TypeError(`${name}: expected a string`);
  }
  return [...orderClauses, ...routeClauses, ...authenticationClauses, ...limitClauses].map((clause) =>
    toAudit(clause, target),
  );
}
