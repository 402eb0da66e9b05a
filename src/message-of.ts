import { inspect } from 'node:util';

/** Returns the message of a failure. It can reveal internals, so it must not be sent to clients. */
export function messageOf(error: unknown): string {
  // Connecting to a name with several addresses fails with one error for each address. The error
  // that contains them has no message.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  // Some drivers throw objects that have a message but are not instances of Error.
  if (typeof error === 'object' && error !== null) return 'message' in error ? String(error.message) : inspect(error);
  return String(error);
}

/** Ends a message about a file of this package that is not beside its code. */
export const ifBundled =
  '; if the program is bundled, leave store-orders out of the bundle: see "Bundlers" in examples/README.md';
