import { createPlan, perDay, perMinute } from 'store-orders/limiter';

// A quota that no benchmark exceeds. Like the quotas of any real plan it is below 2^31. V8 boxes
// larger numbers, and formatting them takes 100 ns.
export const PER_MINUTE = 1e9;
export const PER_DAY = 2e9;
export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** Two windows as in the specification's plans. */
export const PLENTY = createPlan({ name: 'plenty', policies: [perMinute(PER_MINUTE), perDay(PER_DAY)] });
