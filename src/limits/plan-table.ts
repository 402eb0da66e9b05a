import { PLANS, type Plan } from './plan.js';

/**
 * Returns the names of the windows of plans, beginning with the shortest, and for each plan a row with
 * its name and its quota for each window. The last row is for Enterprise. All documents that show the
 * fixed plans are created from it.
 */
export function planTable(plans: readonly Plan[] = Object.values(PLANS)) {
  const policies = plans.flatMap((plan) => plan.policies).sort((a, b) => a.windowMs - b.windowMs);
  const windows = [...new Set(policies.map(({ name }) => name))];
  const rowOf = ({ name, policies }: Plan) => [
    name,
    ...windows.map((window) => policies.find(({ name }) => name === window)?.quota.toLocaleString('en') ?? 'no limit'),
  ];
  return { windows, rows: [...plans.map(rowOf), ['enterprise', ...windows.map(() => 'agreed')]] };
}
