import { suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createMemoryLimiter } from 'store-orders/limiter';
import { createManualClock, type OpenRateLimiter, rateLimiterSuite } from 'store-orders/testing';

const limiters: Readonly<Record<string, OpenRateLimiter>> = {
  'the memory limiter on a manual clock'() {
    const clock = createManualClock();
    return { limiter: createMemoryLimiter({ clock }), advance: clock.advance };
  },
  // This limiter behaves like one on a server. It responds in a later pass of the event loop, and
  // the test cannot set its clock.
  'an asynchronous limiter whose clock the tests cannot set'() {
    const limiter = createMemoryLimiter();
    return {
      limiter: {
        async take(...request) {
          await setTimeout(0);
          return limiter.take(...request);
        },
      },
    };
  },
};

for (const [name, open] of Object.entries(limiters)) {
  suite(name, { concurrency: true }, () => {
    for (const { name, run } of rateLimiterSuite(open)) test(name, run);
  });
}
