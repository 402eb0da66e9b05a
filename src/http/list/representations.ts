import type { Reply } from '../reply.js';
import type { ReadHead } from '../request-head.js';
import { type Coding, preferredCoding } from './accept-encoding.js';
import { compress, LEAST_COMPRESSED } from './compression.js';
import { entityTag, namesTag } from './entity-tag.js';
import { createReplayableBytes, type Failure, type ReplayableBytes } from './replayable-bytes.js';

/** The parts of a request that decide how the list is sent. */
export interface ListRequest {
  readonly method: string | undefined;
  readonly head: Pick<ReadHead, 'ifMatch' | 'ifNoneMatch' | 'acceptEncoding'>;
}

/** The list as it is sent to one client, without the header fields that every reply has. */
export interface Representation {
  readonly status: 200 | 304 | 412;
  readonly fields: readonly string[];
  readonly body: Reply['body'];
  /**
   * Present if the body is not complete. Resolves to `undefined` when the body is complete, or to
   * the failure. Never rejects.
   */
  readonly ended?: Promise<Failure | undefined>;
}

export const PRECONDITION_FAILED: Representation = { status: 412, fields: [], body: undefined };

/** Selects the representation of one frozen list for a request. */
export type Representations = (request: ListRequest) => Representation | Promise<Representation>;

/**
 * Creates the representations of a list from the list's bytes. The list is compressed when a client
 * first asks for compression, even while the list is still being serialised. A HEAD or conditional
 * request waits until the list is complete, because the list's tag and length are unknown until
 * then.
 */
export function createRepresentations(identity: ReplayableBytes): Representations {
  const compressed = new Map<Coding, ReplayableBytes>();
  const finished = new Map<Coding, Representation>();
  const isText = typeof identity.whole()?.body === 'string';

  function select(request: ListRequest): Representation | Promise<Representation> {
    const { ifMatch, ifNoneMatch, acceptEncoding } = request.head;
    const isConditional = ifMatch !== undefined || ifNoneMatch !== undefined;
    const whole = identity.whole();
    if (whole === undefined && (isConditional || request.method === 'HEAD')) {
      return wholeOf(identity).then(() => select(request));
    }
    const isShort = whole !== undefined && whole.length < LEAST_COMPRESSED;
    const coding = preferredCoding(acceptEncoding, isShort);
    if (whole !== undefined && isConditional) {
      // The conditions are checked in the sequence of RFC 9110 §13.2.2. `If-Unmodified-Since` is
      // ignored (§13.1.4), because the list has no modification date.
      const tag = entityTag(whole.digest, coding);
      if (ifMatch !== undefined && !namesTag(ifMatch, tag, 'strong')) return PRECONDITION_FAILED;
      if (ifNoneMatch !== undefined && namesTag(ifNoneMatch, tag, 'weak')) {
        return { status: 304, fields: validators(coding), body: undefined };
      }
    }
    return finished.get(coding) ?? representation(coding, request.method === 'HEAD' || isText);
  }

  function representation(coding: Coding, mustBeWhole: boolean): Representation | Promise<Representation> {
    const bytes = coding === 'identity' ? identity : (compressed.get(coding) ?? start(coding));
    const whole = bytes.whole();
    if (whole === undefined) {
      if (mustBeWhole) return wholeOf(bytes).then(() => representation(coding, false));
      const begin = (): Representation => {
        return { status: 200, fields: fieldsOf(coding, bytes), body: bytes.read(), ended: bytes.ended };
      };
      return bytes.started().then(begin);
    }
    const answered = { status: 200, fields: fieldsOf(coding, bytes), body: whole.body } as const;
    finished.set(coding, answered);
    return answered;
  }

  function start(coding: Exclude<Coding, 'identity'>): ReplayableBytes {
    const bytes = createReplayableBytes(compress(identity.read(), coding));
    compressed.set(coding, bytes);
    // After a failed compression, the next request tries again.
    bytes.ended.then((failure) => failure !== undefined && compressed.delete(coding));
    return bytes;
  }

  function fieldsOf(coding: Coding, bytes: ReplayableBytes): string[] {
    const fields = ['Content-Type', 'application/json'];
    if (coding !== 'identity') fields.push('Content-Encoding', coding);
    fields.push(...validators(coding));
    const length = bytes.whole()?.length;
    if (length !== undefined) fields.push('Content-Length', `${length}`);
    return fields;
  }

  /** Returns the header fields that a 200 and a 304 have in common (RFC 9110 §15.4.5). */
  function validators(coding: Coding): string[] {
    const digest = identity.whole()?.digest;
    const tag = digest === undefined ? [] : ['ETag', entityTag(digest, coding)];
    return [...tag, 'Vary', 'Accept-Encoding'];
  }

  return select;
}

async function wholeOf(bytes: ReplayableBytes): Promise<void> {
  const failure = await bytes.ended;
  if (failure !== undefined) throw failure.error;
}
