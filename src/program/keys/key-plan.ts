import { createPlan, PLANS, type Plan, perDay, perMinute } from '../../limits/plan.js';

export type FixedPlanName = keyof typeof PLANS;

/** The plan of one key as stored: a fixed plan, or `enterprise` with at least one agreed quota. */
export interface KeyPlan {
  readonly name: FixedPlanName | 'enterprise';
  readonly perMinute?: number;
  readonly perDay?: number;
}

/** A requested plan, not yet checked. */
type RequestedPlan = { readonly name: string } & Readonly<Record<'perMinute' | 'perDay', number | undefined>>;

const isFixedPlan = (name: string): name is FixedPlanName => Object.hasOwn(PLANS, name);

export const FIXED_PLANS: readonly FixedPlanName[] = Object.keys(PLANS).filter(isFixedPlan);

/**
 * Checks a plan (specification, part 8). Enterprise must have a quota per minute, a quota per day
 * or both. The quotas of the other plans are fixed.
 */
export function parseKeyPlan({ name, perMinute, perDay }: RequestedPlan): KeyPlan | { readonly mistake: string } {
  const quotas = { ...(perMinute !== undefined && { perMinute }), ...(perDay !== undefined && { perDay }) };
  const hasQuotas = Object.keys(quotas).length > 0;
  if (name === 'enterprise') {
    if (hasQuotas) return { name, ...quotas };
    return { mistake: 'the plan enterprise has no default quotas; set a quota per minute, per day or both' };
  }
  const fixed = FIXED_PLANS.find((plan) => plan === name);
  if (fixed === undefined) {
    return { mistake: `expected the plan ${FIXED_PLANS.join(', ')} or enterprise, not ${JSON.stringify(name)}` };
  }
  if (!hasQuotas) return { name: fixed };
  return { mistake: `the plan ${fixed} has fixed quotas; only the plan enterprise can have other quotas` };
}

/** Converts the plan of a key to a plan of the limiter. */
export function toPlan({ name, perMinute: minute, perDay: day }: KeyPlan): Plan {
  if (name !== 'enterprise') return PLANS[name];
  return createPlan({
    name,
    policies: [...(minute === undefined ? [] : [perMinute(minute)]), ...(day === undefined ? [] : [perDay(day)])],
  });
}

/** Describes a plan: `pro`, or `enterprise, 5000 per minute, 1000000 per day`. */
export function describePlan({ name, perMinute: minute, perDay: day }: KeyPlan): string {
  return [name, minute && `${minute} per minute`, day && `${day} per day`].filter(Boolean).join(', ');
}
