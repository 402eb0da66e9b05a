/**
 * A test for any runner: `test(name, run)`. `run` rejects with an AssertionError if the subject
 * fails.
 */
export interface TestCase {
  readonly name: string;
  readonly run: () => Promise<void>;
}
