import { isMainThread } from 'node:worker_threads';

// Ends a test file that would never end, for example because a test that failed has left a server
// running. test/run.ts loads this module into the processes of all test files.

/** Several times what the slowest file takes. A whole soak takes as long as it is told to. */
const LIMIT_MINUTES = 15 + Number(process.env.STORE_ORDERS_SOAK_SECONDS ?? 0) / 10;

// The runner loads the module too. Only the processes that it starts have this variable.
if (isMainThread && process.env.NODE_TEST_CONTEXT !== undefined) {
  const limit = setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ');
    console.error(`${process.argv[1]} did not end within ${LIMIT_MINUTES} minutes; still open: ${open}`);
    process.exit(1);
  }, LIMIT_MINUTES * 60_000);
  limit.unref();
}
