import { createPlan, perDay, perMinute } from 'store-orders/limiter';

// Quotas that no benchmark exceeds. They are below 2^31, like the quotas of any real plan. V8
// stores larger numbers as objects, and formatting one of them takes 100 ns.
export const PER_MINUTE = 1e9;
export const PER_DAY = 2e9;
export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** A plan with a minute window and a day window, like the plans of the specification. */
export const PLENTY = createPlan({ name: 'plenty', policies: [perMinute(PER_MINUTE), perDay(PER_DAY)] });
