import { MAX_PART_BYTES, type SharedPieces, type StreamEnd, type TakenPieces } from '../reply.js';

/** A client that is being sent a list. */
interface Reading {
  readonly key: string;
  /** Has no pieces once the reading has ended. */
  list: Pick<SharedPieces, 'length' | 'pieces'>;
  cutOff(): void;
}

const NOTHING = { length: 0, pieces: [] };

/** At least this many bytes of lists that have changed since may be kept for slow clients. */
const EARLIER_BYTES = 64 * 2 ** 20;

/** The bound for keys that hold one list each, as a multiple of the usual bound. */
const PATIENCE = 4;

/**
 * Creates a register of the lists that clients are being sent, which bounds the bytes that are kept
 * only for slow clients: those of pieces that are not in `current()`, the most recent list. Pieces
 * that several lists share count once. The bound is the larger of 64 MB and two lists. Beyond it, the
 * oldest reading of the key that holds the most bytes ends with an error. A key that holds no more
 * than one list pays only at four times the bound.
 */
export function createReadings(current: () => readonly Uint8Array[]) {
  /** The oldest comes first. */
  const open = new Set<Reading>();

  function makeRoom(): void {
    const kept = new Set(current());
    const bound = Math.max(EARLIER_BYTES, 2 * longestOf([...open]));
    for (;;) {
      const bytes = bytesOf([...open], kept);
      if (bytes <= bound) return;
      const holdings = byKey(open).map((readings) => ({ readings, bytes: bytesOf(readings, kept) }));
      const payers = holdings.filter((held) => held.bytes > longestOf(held.readings) || bytes > PATIENCE * bound);
      const [payer] = payers.sort((a, b) => b.bytes - a.bytes);
      const oldest = payer?.readings.find((reading) => bytesOf([reading], kept) > 0);
      if (oldest === undefined) return;
      oldest.cutOff();
    }
  }

  /**
   * Returns the body for one client. It is counted from its first piece to its last, because a host
   * may drop a reply unread.
   */
  function take(key: string, list: SharedPieces): TakenPieces {
    let bytes = 0;
    let error: Error | undefined;
    let noteCut: (end: StreamEnd) => void = () => {};
    const cut = new Promise<StreamEnd>((resolve) => {
      noteCut = resolve;
    });
    const reading: Reading = {
      key,
      list,
      cutOff() {
        end();
        error = new Error(`The list was cut off after ${bytes} bytes, because slow clients of its key held the most.`);
        noteCut({ bytes, error });
      },
    };

    /** Lets go of the pieces. */
    function end(): void {
      open.delete(reading);
      reading.list = NOTHING;
    }

    async function* takePieces(): AsyncGenerator<Uint8Array> {
      open.add(reading);
      makeRoom();
      try {
        for (let index = 0; ; index++) {
          if (error !== undefined) throw error;
          const piece = reading.list.pieces[index];
          if (piece === undefined) return;
          bytes += piece.length;
          yield piece;
        }
      } finally {
        end();
      }
    }
    const { length, pieces } = list;
    const onlyPiece = pieces.length === 1 && length <= MAX_PART_BYTES ? pieces[0] : undefined;
    return { length, onlyPiece, cut, [Symbol.asyncIterator]: takePieces };
  }

  return {
    take,
    /** Returns the pieces of the list that a client began to take last. */
    newest: () => [...open].at(-1)?.list.pieces ?? [],
  };
}

function byKey(readings: Iterable<Reading>): (readonly Reading[])[] {
  const groups = new Map<string, Reading[]>();
  for (const reading of readings) groups.set(reading.key, [...(groups.get(reading.key) ?? []), reading]);
  return [...groups.values()];
}

function longestOf(readings: readonly Reading[]): number {
  return Math.max(...readings.map(({ list }) => list.length));
}

/** Returns the bytes of all pieces of these lists except those in `kept`, each counted once. */
function bytesOf(readings: readonly Reading[], kept: ReadonlySet<Uint8Array>): number {
  const pieces = new Set<Uint8Array>();
  for (const list of new Set(readings.map(({ list }) => list))) for (const piece of list.pieces) pieces.add(piece);
  let bytes = 0;
  for (const piece of pieces) if (!kept.has(piece)) bytes += piece.length;
  return bytes;
}
