/** Text that is produced once and read by many, each at its own pace and from the beginning. */
export interface SharedPrint {
  /** Resolves when the first piece is there; rejects if producing failed before. */
  readonly started: Promise<void>;
  /** Resolves at its end, to why it is not whole if producing failed. Never rejects. */
  readonly ended: Promise<{ readonly error: unknown } | undefined>;
  /** In bytes, once it is whole. */
  length(): number | undefined;
  /** All pieces, those that are still to come included. Throws where producing failed. */
  read(): AsyncIterable<Uint8Array>;
}

/**
 * Produces to the end, whoever reads: the pieces are kept for the next reader, and a slow one or one that hangs up holds
 * up nobody.
 */
export function sharePrint(pieces: AsyncIterable<Uint8Array>): SharedPrint {
  const printed: Uint8Array[] = [];
  let length = 0;
  let failure: { readonly error: unknown } | undefined;
  let isWhole = false;
  let onProgress: (() => void)[] = [];

  function progress(): void {
    const waiting = onProgress;
    onProgress = [];
    for (const resume of waiting) resume();
  }

  /** Whether there is a piece of this index; waits until that is certain. */
  async function has(index: number): Promise<boolean> {
    while (index === printed.length && !isWhole && failure === undefined) {
      await new Promise<void>((resolve) => onProgress.push(resolve));
    }
    if (index < printed.length) return true;
    if (failure !== undefined) throw failure.error;
    return false;
  }

  async function produce(): Promise<typeof failure> {
    try {
      for await (const piece of pieces) {
        printed.push(piece);
        length += piece.length;
        progress();
      }
      isWhole = true;
    } catch (error) {
      failure = { error };
    }
    progress();
    return failure;
  }

  return {
    ended: produce(),
    started: has(0).then(() => {}),
    length: () => (isWhole ? length : undefined),
    async *read() {
      for (let index = 0; await has(index); index++) {
        const piece = printed[index];
        if (piece !== undefined) yield piece;
      }
    },
  };
}
