import type { OrderBatch, StreamedText } from '../../orders/index.js';
import { printBatch } from '../../orders/json.js';
import { afterHost, hostCall, hostItems, hostStream, isPromise } from '../host-call.js';
import { digestOf } from './entity-tag.js';
import { createReplayableBytes, type ReplayableBytes } from './replayable-bytes.js';

export type Batches = Iterable<OrderBatch> | AsyncIterable<OrderBatch | StreamedText>;

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

  function serialized(text: string, version: object | undefined): SerializedBatch | undefined {
    if (text === '') return undefined;
    const bytes = Buffer.from(`,${text}`);
    const batch = { bytes, digest: digestOf(bytes) };
    if (version !== undefined) remembered.set(version, batch);
    return batch;
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

      async function appendAsTheyCome(streamed: AsyncIterable<OrderBatch | StreamedText>): Promise<string> {
        for await (const batch of hostStream(streamed)) {
          const version = versionOf(batch);
          const bytes = (version && remembered.get(version)) ?? serialized(await textOf(batch), version);
          if (bytes !== undefined) append(bytes);
        }
        return close();
      }

      /** Stops before each batch that is to be serialised, but the first. */
      function* appendInTurns(stored: Iterable<OrderBatch>): Generator<undefined, string> {
        let isFirst = true;
        for (const batch of hostItems(stored)) {
          const version = versionOf(batch);
          let bytes = version && remembered.get(version);
          if (bytes === undefined) {
            if (!isFirst) yield;
            isFirst = false;
            bytes = serialized(printBatch(batch), version);
          }
          if (bytes !== undefined) append(bytes);
        }
        return close();
      }

      return Symbol.asyncIterator in batches ? appendAsTheyCome(batches) : takeTurns(appendInTurns(batches));
    });
}

/** The JSON text of a batch of a streamed list. Text that cannot be fetched is a failure of the host. */
export function textOf(batch: OrderBatch | StreamedText): string | Promise<string> {
  if (typeof batch !== 'object' || !('version' in batch)) return printBatch(batch);
  const text = hostCall(() => batch.text());
  return isPromise(text) ? afterHost(text, (fetched) => fetched) : text;
}

/** What says whether a batch was serialised before; nothing, if a host may still change it. */
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
