import { type Audit, type AuditTarget, toAudit } from './audit.js';
import { authenticationClauses } from './authentication.js';
import { limitClauses } from './limits.js';
import { orderClauses } from './orders.js';
import { routeClauses } from './routes.js';

/**
 * The specification clause by clause, to be run one after the other. They cancel and replace orders: with `issueKey` and `store`
 * never run them against orders that somebody needs.
 */
export function serviceAudits(target: AuditTarget): Audit[] {
  return [...orderClauses, ...routeClauses, ...authenticationClauses, ...limitClauses].map((clause) =>
    toAudit(clause, target),
  );
}
