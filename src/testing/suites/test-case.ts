/** A test for any runner: `test(name, run)`. If it fails, `run` rejects with an AssertionError. */
export interface TestCase {
  readonly name: string;
  readonly run: () => Promise<void>;
}
