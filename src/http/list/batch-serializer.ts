import type { OrderBatch } from '../../orders/index.js';
import { printBatch } from '../../orders/json.js';
import { hostItems, hostStream } from '../host-call.js';
import { digestOf } from './entity-tag.js';
import { createReplayableBytes, type ReplayableBytes } from './replayable-bytes.js';

export type Batches = Iterable<OrderBatch> | AsyncIterable<OrderBatch>;

/**
 * A batch as it stands in the list: a comma, then its orders. Where it comes first, the comma is
 * left out.
 */
interface SerializedBatch {
  readonly bytes: Buffer;
  readonly digest: string;
}

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

/**
 * Creates the serialiser of frozen lists. It remembers the bytes of a batch that never changes for
 * as long as the batch itself lives, so that of the next list only the new batches are serialised.
 * Between two of those the event loop has its turn; a list with only one such batch is whole at
 * once.
 */
export function createBatchSerializer(): (batches: Batches) => ReplayableBytes {
  const remembered = new WeakMap<object, SerializedBatch>();

  function serialize(batch: OrderBatch, version: object | undefined): SerializedBatch | undefined {
    const text = printBatch(batch);
    if (text === '') return undefined;
    const bytes = Buffer.from(`,${text}`);
    const serialized = { bytes, digest: digestOf(bytes) };
    if (version !== undefined) remembered.set(version, serialized);
    return serialized;
  }

  return (batches) =>
    createReplayableBytes((add) => {
      let digests = '';

      function append({ bytes, digest }: SerializedBatch): void {
        if (digests === '') add(OPEN);
        add(digests === '' ? bytes.subarray(1) : bytes);
        digests += digest;
      }

      function close(): string {
        if (digests === '') add(OPEN);
        add(CLOSE);
        return digestOf(digests);
      }

      async function appendAsTheyCome(streamed: AsyncIterable<OrderBatch>): Promise<string> {
        for await (const batch of hostStream(streamed)) {
          const version = versionOf(batch);
          const serialized = (version && remembered.get(version)) ?? serialize(batch, version);
          if (serialized !== undefined) append(serialized);
        }
        return close();
      }

      /** Stops before each batch that is to be serialised, but the first. */
      function* appendInTurns(stored: Iterable<OrderBatch>): Generator<undefined, string> {
        let isFirst = true;
        for (const batch of hostItems(stored)) {
          const version = versionOf(batch);
          let serialized = version && remembered.get(version);
          if (serialized === undefined) {
            if (!isFirst) yield;
            isFirst = false;
            serialized = serialize(batch, version);
          }
          if (serialized !== undefined) append(serialized);
        }
        return close();
      }

      return Symbol.asyncIterator in batches ? appendAsTheyCome(batches) : takeTurns(appendInTurns(batches));
    });
}

/** What says whether a batch was serialised before; nothing, if a host may still change it. */
function versionOf(batch: OrderBatch): object | undefined {
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
