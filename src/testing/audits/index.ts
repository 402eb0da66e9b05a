import { type Audit, type AuditTarget, toAudit } from './audit.js';
import { authenticationClauses } from './authentication.js';
import { limitClauses } from './limits.js';
import { orderClauses } from './orders.js';
import { planClauses } from './plans.js';
import { routeClauses } from './routes.js';

/**
 * Returns one audit for each clause of the specification. Run them one after the other. With
 * `store` they change orders, and with `issueKey` they add keys, so run them only against a test
 * system. Fields of `target` that no audit uses are allowed, because a `TestService` has some. So a
 * misspelt `issueKey`, `store` or `clock` is not reported, but the audits that need it have a `skip`.
 * Throws a TypeError if `url` or `apiKey` is not a string.
 */
export function serviceAudits(target: AuditTarget): Audit[] {
  for (const name of ['url', 'apiKey'] as const) {
    // A getter is not called here, because some tests know the URL only once their server listens.
    // The audits call the getter.
    const isLater = Object.getOwnPropertyDescriptor(target ?? {}, name)?.get !== undefined;
    if (!isLater && typeof target?.[name] !== 'string') throw new TypeError(`${name}: expected a string`);
  }
  return [...orderClauses, ...routeClauses, ...authenticationClauses, ...planClauses, ...limitClauses].map((clause) =>
    toAudit(clause, target),
  );
}
