/** Bytes that are produced once and read by many, each at its own pace and from the beginning. */
export interface SharedPrint {
  /** Resolves when the first piece is there; rejects if producing failed before. */
  started(): Promise<void>;
  /** Resolves at its end, to why it is not whole if producing failed. Never rejects. */
  readonly ended: Promise<PrintFailure | undefined>;
  /** Once it is whole: before, `undefined`. */
  whole(): WholePrint | undefined;
  /** All pieces, those that are still to come included. Throws where producing failed. */
  read(): AsyncIterable<Uint8Array>;
  /** Nobody will ask for it again: it is produced no further than those go who read it already. */
  abandon(): void;
}

interface WholePrint {
  readonly body: string | Uint8Array | Pieces;
  /** In bytes. */
  readonly length: number;
  /** What the producer says of the whole. */
  readonly digest: string;
}

export interface PrintFailure {
  readonly error: unknown;
}

/** What a producer throws that stops because nobody wants the rest. */
export const ABANDONED = new Error('nobody wants the rest');

interface Printing {
  add(piece: Uint8Array): void;
  /** Whether anybody can still want the rest. */
  isWanted(): boolean;
}

/** Produces the pieces; answers with the digest of the whole. What it does before its first `await` is done at once. */
export type Produce = (printing: Printing) => string | Promise<string>;

/** Pieces that are all there, and the same for all readers: to hand over many of them at a time costs no memory. */
interface Pieces extends AsyncIterable<Uint8Array>, Iterable<Uint8Array> {}

/**
 * Produces to the end, whoever reads, unless it is abandoned: the pieces are kept for the next reader, and a slow one or
 * one that hangs up holds up nobody.
 */
export function sharePrint(produce: Produce): SharedPrint {
  const printed: Uint8Array[] = [];
  const pieces = piecesOf(printed);
  let length = 0;
  let whole: WholePrint | undefined;
  let failure: PrintFailure | undefined;
  let readers = 0;
  let isAbandoned = false;
  let onProgress: (() => void)[] = [];

  const printing: Printing = {
    add(piece) {
      printed.push(piece);
      length += piece.length;
      progress();
    },
    isWanted: () => !isAbandoned || readers > 0,
  };

  function progress(): void {
    const waiting = onProgress;
    onProgress = [];
    for (const resume of waiting) resume();
  }

  function finish(digest: string): void {
    const [only, ...others] = printed;
    whole = { body: only !== undefined && others.length === 0 ? only : pieces, length, digest };
    progress();
  }

  function fail(error: unknown): PrintFailure {
    failure = { error };
    progress();
    return failure;
  }

  function start(): Promise<PrintFailure | undefined> {
    try {
      const digest = produce(printing);
      if (typeof digest !== 'string') return digest.then(finish).then(() => undefined, fail);
      finish(digest);
      return Promise.resolve(undefined);
    } catch (error) {
      return Promise.resolve(fail(error));
    }
  }

  /** Whether there is a piece of this index; waits until that is certain. */
  async function has(index: number): Promise<boolean> {
    while (index === printed.length && whole === undefined && failure === undefined) {
      await new Promise<void>((resolve) => onProgress.push(resolve));
    }
    if (index < printed.length) return true;
    if (failure !== undefined) throw failure.error;
    return false;
  }

  /** Not a generator: whoever hangs up before the first piece is asked for is no reader any more either. */
  function follow(): AsyncIterableIterator<Uint8Array> {
    let index = 0;
    let isReading = true;
    // From now on, and not from the first piece that is asked for: by then it may have been abandoned.
    readers++;

    function leave(): IteratorResult<Uint8Array> {
      if (isReading) readers--;
      isReading = false;
      return { done: true, value: undefined };
    }

    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      async next() {
        const piece = isReading && (await has(index)) ? printed[index++] : undefined;
        return piece === undefined ? leave() : { done: false, value: piece };
      },
      return: async () => leave(),
    };
  }

  const ended = start();
  return {
    ended,
    started: () => has(0).then(() => {}),
    whole: () => whole,
    read: () => (whole === undefined ? follow() : pieces),
    abandon() {
      isAbandoned = true;
    },
  };
}

/** A text that was printed at once, for whoever takes any print. */
export function wholeText(text: string, digest: string): SharedPrint {
  const whole = { body: text, length: text.length, digest };
  const done = Promise.resolve(undefined);
  return {
    started: () => done,
    ended: done,
    whole: () => whole,
    read: () => piecesOf([Buffer.from(text, 'latin1')]),
    abandon() {},
  };
}

function piecesOf(printed: readonly Uint8Array[]): Pieces {
  return {
    [Symbol.iterator]: () => printed.values(),
    async *[Symbol.asyncIterator]() {
      yield* printed;
    },
  };
}
