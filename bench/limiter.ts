export const KEY_COUNTS = [1, 1_000, 100_000, 1_000_000];

/** Hand-written for exactly this plan: no ban, no decision, no headers. */
export function floor(): (key: string) => boolean {
  const slots = new Map<string, number>();
  let state = new Float64Array(4 * 1_024);
  return (key) => {
    const now = Math.floor(performance.timeOrigin + performance.now());
    let slot = slots.get(key);
    if (slot === undefined) {
      slot = slots.size * 4;
      slots.set(key, slot);
      if (slot >= state.length) {
        const larger = new Float64Array(state.length * 2);
        larger.set(state);
        state = larger;
      }
    }
    const minuteOver = (state[slot + 1] ?? 0) <= now;
    const dayOver = (state[slot + 3] ?? 0) <= now;
    const minute = minuteOver ? 0 : (state[slot] ?? 0);
    const day = dayOver ? 0 : (state[slot + 2] ?? 0);
    if (minute + 1 > 1e12 || day + 1 > 1e13) return false;
    state[slot] = minute + 1;
    state[slot + 2] = day + 1;
    if (minuteOver) state[slot + 1] = now + 60_000;
    if (dayOver) state[slot + 3] = now + 86_400_000;
    return true;
  };
}

/** The same order at every run. */
export function shuffled(keys: string[]): string[] {
  let seed = 42;
  for (let i = keys.length - 1; i > 0; i--) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    const j = seed % (i + 1);
    [keys[i], keys[j]] = [keys[j] ?? '', keys[i] ?? ''];
  }
  return keys;
}
