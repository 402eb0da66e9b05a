/**
 * The time that a client must wait after a 429 or 503. A request within this time could get the key
 * banned.
 */
export interface Wait {
  /** Returns the milliseconds that are left, or 0 after the wait. */
  leftMs(): number;
}

export const NO_WAIT: Wait = { leftMs: () => 0 };

export function waitOf(headers: Headers): Wait {
  const seconds = headers.get('Retry-After');
  if (seconds === null) return NO_WAIT;
  const endMs = performance.now() + Number(seconds) * 1_000;
  return { leftMs: () => Math.max(0, endMs - performance.now()) };
}

/**
 * Formats a wait: `42 s`, `3 min 20 s`, `23 h 59 min`. Seconds are rounded up. From two hours on,
 * they are left out.
 */
export function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 120 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
