import { createPlan, perDay, perMinute } from 'store-orders/limiter';

// So large that no benchmark is refused, and below 2^31 as the quotas of any real plan: V8 keeps a larger number in a box,
// and printing it takes 100 ns.
export const PER_MINUTE = 1e9;
export const PER_DAY = 2e9;
export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** Two windows as in the specification's plans. */
export const PLENTY = createPlan({ name: 'plenty', policies: [perMinute(PER_MINUTE), perDay(PER_DAY)] });
