// This import is necessary, because tests with fake timers replace the global `setImmediate`.
import { setImmediate } from 'node:timers';
import type { OrderBatch, StreamedText } from '../../orders/index.js';
import { printBatch } from '../../orders/json.js';
import { afterHost, hostCall, hostItems, hostStream, isPromise } from '../host-call.js';
import { digestOf } from './entity-tag.js';
import { createReplayableBytes, type ReplayableBytes } from './replayable-bytes.js';

export type Batches = Iterable<OrderBatch> | AsyncIterable<OrderBatch | StreamedText>;

/**
 * The bytes of a batch: a comma, then its orders. The first batch of a list is sent without the
 * comma.
 */
interface SerializedBatch {
  readonly bytes: Buffer;
  readonly digest: string;
}

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

/**
 * Creates a serialiser of frozen lists, which consist of batches of orders. The bytes of a frozen
 * batch are cached until the batch is garbage-collected. Batches that are not cached are serialised
 * one at a time, and the event loop can run between them. If at most one batch is not cached, a
 * list that is not streamed is serialised synchronously.
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

      /**
       * Pauses (`yield`) before each batch that is not cached, except before the first such batch.
       * The event loop runs during a pause.
       */
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

/**
 * Returns the JSON text of a batch of a streamed list. If the store cannot provide the text,
 * records that the error came from the store.
 */
export function textOf(batch: OrderBatch | StreamedText): string | Promise<string> {
  if (typeof batch !== 'object' || !('version' in batch)) return printBatch(batch);
  const text = hostCall('store.list', () => batch.text());
  return isPromise(text) ? afterHost('store.list', text, (fetched) => fetched) : text;
}

/**
 * Returns the object under which the bytes of a batch are cached: the batch's property `version` if
 * it has one, otherwise the frozen batch itself. Returns `undefined` for a batch that cannot be
 * cached, which is a string or an array that is not frozen.
 */
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
