import type { StreamedBody } from '../reply.js';
import type { ReadRequest } from '../request.js';
import { type Coding, preferredCoding } from './accept-encoding.js';
import type { SerializedList } from './body.js';
import { compress, LEAST_COMPRESSED } from './compression.js';
import { entityTag, namesTag } from './entity-tag.js';

/** The parts of a request that decide how the list is sent. */
export type ListRequest = Pick<ReadRequest, 'method' | 'ifMatch' | 'ifNoneMatch' | 'acceptEncoding'>;

/** The list as it is sent to one client, without the header fields that every reply has. */
export interface Representation {
  readonly status: 200 | 304 | 412;
  readonly fields: readonly string[];
  readonly body: SerializedList['body'] | StreamedBody | undefined;
}

export const PRECONDITION_FAILED: Representation = { status: 412, fields: [], body: undefined };

/** Selects the representation of one list for a request. */
export type Representations = (request: ListRequest) => Representation | Promise<Representation>;

const JSON_FIELDS: readonly string[] = ['Content-Type', 'application/json'];

/**
 * Creates the representations of a serialised list, or of another body that never changes.
 * `contentFields` are the header fields of its 200. The body is compressed when a client first
 * accepts a coding, once for each coding.
 */
export function createRepresentations(list: SerializedList, contentFields = JSON_FIELDS): Representations {
  const identity = representation('identity', list.body);
  const compressed = new Map<Coding, Representation | Promise<Representation>>();

  function startCompression(coding: Exclude<Coding, 'identity'>): Promise<Representation> {
    const pending = compress(list.body, coding).then((body) => {
      const ready = representation(coding, body);
      compressed.set(coding, ready);
      return ready;
    });
    compressed.set(coding, pending);
    // After a failed compression, the next request tries again.
    pending.catch(() => compressed.delete(coding));
    return pending;
  }

  function representation(coding: Coding, body: SerializedList['body']): Representation {
    const fields = [...contentFields];
    if (coding !== 'identity') fields.push('Content-Encoding', coding);
    fields.push(...validators(coding), 'Content-Length', `${body.length}`);
    return { status: 200, fields, body };
  }

  /** Returns the header fields that a 200 and a 304 have in common (RFC 9110 §15.4.5). */
  function validators(coding: Coding): string[] {
    return ['ETag', entityTag(list.digest, coding), 'Vary', 'Accept-Encoding'];
  }

  return ({ ifMatch, ifNoneMatch, acceptEncoding }) => {
    const coding = preferredCoding(acceptEncoding, list.body.length < LEAST_COMPRESSED);
    if (ifMatch !== undefined || ifNoneMatch !== undefined) {
      // The conditions are checked in the sequence of RFC 9110 §13.2.2. `If-Unmodified-Since` is
      // ignored (§13.1.4), because the list has no modification date.
      const tag = entityTag(list.digest, coding);
      if (ifMatch !== undefined && !namesTag(ifMatch, tag, 'strong')) return PRECONDITION_FAILED;
      if (ifNoneMatch !== undefined && namesTag(ifNoneMatch, tag, 'weak')) {
        return { status: 304, fields: validators(coding), body: undefined };
      }
    }
    if (coding === 'identity') return identity;
    return compressed.get(coding) ?? startCompression(coding);
  };
}
