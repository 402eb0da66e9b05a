import { createPlan, perDay, perMinute } from 'store-orders/limiter';

/** Two windows as in the specification's plans, so large that no benchmark is refused. */
export const PLENTY = createPlan({ name: 'plenty', policies: [perMinute(1e12), perDay(1e13)] });
