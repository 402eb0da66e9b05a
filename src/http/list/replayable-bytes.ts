/**
 * Bytes that are produced once and read by many readers, each at its own pace and from the
 * beginning.
 */
export interface ReplayableBytes {
  /** Resolves when the first piece exists. Rejects if the producer failed before that. */
  started(): Promise<void>;
  /**
   * Resolves when the producer has ended: to its failure, or to `undefined` if the bytes are
   * complete. Never rejects.
   */
  readonly ended: Promise<Failure | undefined>;
  /** Returns the bytes if they are complete, otherwise `undefined`. */
  whole(): WholeBytes | undefined;
  /**
   * Yields all pieces, including those that are produced later. Throws at the point where the
   * producer failed.
   */
  read(): AsyncIterable<Uint8Array>;
}

interface WholeBytes {
  readonly body: string | Uint8Array | Pieces;
  /** The length in bytes. */
  readonly length: number;
  /** The digest that the producer returned for all bytes. */
  readonly digest: string;
}

export interface Failure {
  readonly error: unknown;
}

/**
 * A producer of bytes. It passes each piece to `add`, and returns the digest of all of them. It
 * runs synchronously up to its first `await`.
 */
export type Produce = (add: (piece: Uint8Array) => void) => string | Promise<string>;

/**
 * All pieces of a complete body. Every reader receives the same buffers, so a reader that takes
 * many pieces at a time uses no further memory.
 */
interface Pieces extends AsyncIterable<Uint8Array>, Iterable<Uint8Array> {}

/**
 * Runs the producer to its end, whether anybody reads or not, and keeps the pieces for later
 * readers. A reader that is slow or hangs up does not delay the others.
 */
export function createReplayableBytes(produce: Produce): ReplayableBytes {
  const produced: Uint8Array[] = [];
  const pieces = piecesOf(produced);
  let length = 0;
  let whole: WholeBytes | undefined;
  let failure: Failure | undefined;
  let onProgress: (() => void)[] = [];

  function add(piece: Uint8Array): void {
    produced.push(piece);
    length += piece.length;
    progress();
  }

  function progress(): void {
    const waiting = onProgress;
    onProgress = [];
    for (const resume of waiting) resume();
  }

  function finish(digest: string): void {
    const [only, ...others] = produced;
    whole = { body: only !== undefined && others.length === 0 ? only : pieces, length, digest };
    progress();
  }

  function fail(error: unknown): Failure {
    failure = { error };
    progress();
    return failure;
  }

  function start(): Promise<Failure | undefined> {
    try {
      const digest = produce(add);
      if (typeof digest !== 'string') return digest.then(finish).then(() => undefined, fail);
      finish(digest);
      return Promise.resolve(undefined);
    } catch (error) {
      return Promise.resolve(fail(error));
    }
  }

  /**
   * Resolves to the piece with this index, or to `undefined` if there is none. Waits until the
   * piece is produced or the producer has ended.
   */
  async function pieceAt(index: number): Promise<Uint8Array | undefined> {
    while (index === produced.length && whole === undefined && failure === undefined) {
      await new Promise<void>((resolve) => onProgress.push(resolve));
    }
    if (index === produced.length && failure !== undefined) throw failure.error;
    return produced[index];
  }

  async function* follow(): AsyncGenerator<Uint8Array> {
    let index = 0;
    for (let piece = await pieceAt(0); piece !== undefined; piece = await pieceAt(++index)) yield piece;
  }

  const ended = start();
  return {
    ended,
    started: () => pieceAt(0).then(() => {}),
    whole: () => whole,
    read: () => (whole === undefined ? follow() : pieces),
  };
}

/** Converts a serialised list to bytes that are complete from the start. */
export function replayableText(text: string, digest: string): ReplayableBytes {
  const whole = { body: text, length: text.length, digest };
  const done = Promise.resolve(undefined);
  return {
    started: () => done,
    ended: done,
    whole: () => whole,
    read: () => piecesOf([Buffer.from(text, 'latin1')]),
  };
}

function piecesOf(produced: readonly Uint8Array[]): Pieces {
  return {
    [Symbol.iterator]: () => produced.values(),
    async *[Symbol.asyncIterator]() {
      yield* produced;
    },
  };
}
