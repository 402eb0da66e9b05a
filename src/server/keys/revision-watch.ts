/**
 * Watches the revision of some data in a database: a text that changes whenever the data changes.
 * With it, a caller notices soon that its cached values are outdated.
 */
export interface RevisionWatch {
  /**
   * Returns whether the revision was read recently enough to trust cached values. If the revision
   * is due to be read again, also starts to read it.
   */
  isFresh(): boolean;
  /**
   * Waits for a reading of the revision that began after this call, or less than {@link TRUSTED_MS}
   * before it. Rejects if the revision cannot be read.
   */
  refresh(): Promise<void>;
  /**
   * Records a revision that a query has read together with a value. `askedMs` is when the query was
   * sent. Returns whether the caller may cache the value. It must not be cached if a newer revision
   * is known, or if `forget` was called after `askedMs`.
   */
  learn(revision: string, askedMs: number): boolean;
  /** Treats every revision that was read, or is being read, as outdated. */
  forget(): void;
}

/** If the last reading is at least this old, `isFresh` starts another one. */
const LOOK_AFTER_MS = 250;
/**
 * If the last reading is at least this old, callers wait for another one before they use cached
 * values. A change is therefore noticed within a second, at any load.
 */
export const TRUSTED_MS = 750;

/**
 * Watches one revision. A simpler cache would drop each key after a time to live, and look it up
 * again. A look-up takes 130 µs of processor time in this process and 85 µs in PostgreSQL. With
 * 1,000 keys in use and a time to live of 750 ms, that is 17 % and 11 % of a core. Reading the
 * revision four times per second takes 0.05 % of a core on each side, for any number of keys.
 *
 * `changed` is called when the revision has changed, before any data of the new revision is cached.
 * Only one read is in flight at a time. It starts at least a quarter of a second after the start of
 * the previous read, even if that one failed. After `forget`, the next read starts without waiting.
 */
export function createRevisionWatch(
  nowMs: () => number,
  readRevision: () => Promise<string>,
  changed: () => void,
): RevisionWatch {
  let known: string | undefined;
  /** When the query that returned `known` was sent. */
  let knownMs = Number.NEGATIVE_INFINITY;
  let forgottenMs = Number.NEGATIVE_INFINITY;
  let look: { readonly askedMs: number; readonly ended: Promise<void>; isUnderWay: boolean } | undefined;

  const isTrusted = (atMs: number) => knownMs > atMs - TRUSTED_MS;

  function learn(revision: string, askedMs: number): boolean {
    if (askedMs < forgottenMs) return false;
    if (revision !== known) {
      if (askedMs < knownMs) return false;
      changed();
      known = revision;
    }
    knownMs = Math.max(knownMs, askedMs);
    return true;
  }

  function lookAgain(): Promise<void> {
    const askedMs = nowMs();
    if (look !== undefined && (look.isUnderWay || askedMs - look.askedMs < LOOK_AFTER_MS)) return look.ended;
    const ended = readRevision()
      .then((revision) => void learn(revision, askedMs))
      .finally(() => {
        begun.isUnderWay = false;
      });
    const begun = { askedMs, ended, isUnderWay: true };
    look = begun;
    return ended;
  }

  return {
    isFresh() {
      const atMs = nowMs();
      if (atMs - knownMs >= LOOK_AFTER_MS) lookAgain().catch(() => {});
      return isTrusted(atMs);
    },

    async refresh() {
      const sinceMs = nowMs();
      // A read that was already in flight may have started too early, so another read follows.
      while (!isTrusted(sinceMs)) await lookAgain();
    },

    learn,

    forget() {
      forgottenMs = nowMs();
      knownMs = Number.NEGATIVE_INFINITY;
      known = undefined;
      look = undefined;
    },
  };
}
