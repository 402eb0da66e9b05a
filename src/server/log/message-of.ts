/** The message of a failure, for the operator alone. */
export function messageOf(error: unknown): string {
  // When a host has several addresses, each has failed, and the whole has no message.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
