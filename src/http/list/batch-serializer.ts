import type { OrderBatch, StreamedText } from '../../orders/index.js';
import { printBatch } from '../../orders/json.js';
import { digestOf } from './entity-tag.js';
import { type SharedPrint, sharePrint } from './replayable-bytes.js';

export type Batches = Iterable<OrderBatch> | AsyncIterable<OrderBatch | StreamedText>;

/** A batch as it stands in the list: a comma, then its orders. Where it comes first, the comma is left out. */
interface PrintedBatch {
  readonly bytes: Buffer;
  readonly digest: string;
}

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

/**
 * Makes the printer of frozen lists. What it printed of a batch that never changes it remembers for as long as the batch
 * itself lives: of the next list only those batches are printed that no list before had. Between two that it prints the
 * event loop has its turn; a list with only one such batch is whole at once.
 */
export function createBatchPrinter(): (batches: Batches) => SharedPrint {
  const remembered = new WeakMap<object, PrintedBatch>();

  function printed(text: string, version: object | undefined): PrintedBatch | undefined {
    if (text === '') return undefined;
    const bytes = Buffer.from(`,${text}`);
    const print = { bytes, digest: digestOf(bytes) };
    if (version !== undefined) remembered.set(version, print);
    return print;
  }

  return (batches) =>
    sharePrint(({ add }) => {
      let digests = '';

      function append({ bytes, digest }: PrintedBatch): void {
        if (digests === '') add(OPEN);
        add(digests === '' ? bytes.subarray(1) : bytes);
        digests += digest;
      }

      function close(): string {
        if (digests === '') add(OPEN);
        add(CLOSE);
        return digestOf(digests);
      }

      async function appendAsTheyCome(streamed: AsyncIterable<OrderBatch | StreamedText>): Promise<string> {
        for await (const batch of streamed) {
          const version = versionOf(batch);
          const print = (version && remembered.get(version)) ?? printed(await printBatch(batch), version);
          if (print !== undefined) append(print);
        }
        return close();
      }

      /** Stops before each batch that is to be printed, but the first. */
      function* appendInTurns(stored: Iterable<OrderBatch>): Generator<undefined, string> {
        let hasPrinted = false;
        for (const batch of stored) {
          const version = versionOf(batch);
          let print = version && remembered.get(version);
          if (print === undefined) {
            if (hasPrinted) yield;
            hasPrinted = true;
            print = printed(printBatch(batch), version);
          }
          if (print !== undefined) append(print);
        }
        return close();
      }

      return Symbol.asyncIterator in batches ? appendAsTheyCome(batches) : takeTurns(appendInTurns(batches));
    });
}

/** What says whether a batch was printed before; nothing, if a host may still change it. */
function versionOf(batch: OrderBatch | StreamedText): object | undefined {
  if (typeof batch === 'string') return undefined;
  if ('version' in batch) return batch.version;
  return Object.isFrozen(batch) ? batch : undefined;
}

function takeTurns(steps: Generator<undefined, string>): string | Promise<string> {
  const step = steps.next();
  return step.done ? step.value : takeFurtherTurns(steps);
}

async function takeFurtherTurns(steps: Generator<undefined, string>): Promise<string> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    const step = steps.next();
    if (step.done) return step.value;
  }
}
