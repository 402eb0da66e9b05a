import { inspect } from 'node:util';

/** Returns the message of a failure, for the operator only. */
export function messageOf(error: unknown): string {
  // If a host has several addresses, there is one error for each, and the error as a whole has no
  // message.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  // The value comes from another thread, or from a driver that throws something other than an
  // Error.
  if (typeof error === 'object' && error !== null) return 'message' in error ? String(error.message) : inspect(error);
  return String(error);
}
