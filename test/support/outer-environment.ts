/**
 * Returns the environment without the variables of this test run. With these, a program started
 * here would write coverage, and its tests would report to this test run.
 */
export function outerEnvironment(): NodeJS.ProcessEnv {
  const { NODE_V8_COVERAGE: _, NODE_TEST_CONTEXT: __, ...environment } = process.env;
  return environment;
}
