/**
 * A `--test-reporter` that writes the name and the reason of each skipped test or suite as one JSON
 * value. It is JavaScript because the process that starts the test files has no loader for
 * TypeScript.
 *
 * @param {AsyncIterable<import('node:test/reporters').TestEvent>} events
 */
export default async function* skippedReporter(events) {
  const skipped = [];
  for await (const { type, data } of events) {
    if (type === 'test:pass' && typeof data.skip === 'string') skipped.push({ name: data.name, reason: data.skip });
  }
  yield JSON.stringify(skipped);
}
