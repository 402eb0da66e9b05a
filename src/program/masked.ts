/** The beginning of each API key of this program. */
export const API_KEY_PREFIX = 'so_';

/** A key, also one that is mistyped, cut off near its end, or part of a URL with its `_` encoded. */
const KEY = /so(?:_|%5f)[0-9a-z]{16,}/gi;

/**
 * Masks what looks like an API key. Log lines and messages repeat what clients, users and databases
 * have written, and a client may send its key in a path, or a user may paste one as an operand.
 */
export function masked(text: string): string {
  return text.replace(KEY, `${API_KEY_PREFIX}***`);
}
