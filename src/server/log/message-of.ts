import { inspect } from 'node:util';

/** The message of a failure, for the operator alone. */
export function messageOf(error: unknown): string {
  // When a host has several addresses, each has failed, and the whole has no message.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  // From another thread, or of a driver that throws no Error.
  if (typeof error === 'object' && error !== null) return 'message' in error ? String(error.message) : inspect(error);
  return String(error);
}
