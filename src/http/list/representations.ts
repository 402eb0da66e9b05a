import { Readable } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import type { MaybePromise } from '../../orders/index.js';
import { errorOutcome, isPieces, type Outcome, PRIVATE } from '../reply.js';
import type { ReadRequest } from '../request.js';
import { collect, type SerializedList } from './body.js';
import { type Coding, entityTag, namesTag, preferredCoding } from './negotiate.js';

export type ListRequest = Pick<ReadRequest, 'method' | 'ifMatch' | 'ifNoneMatch' | 'acceptEncoding'>;

/** Selects the outcome of a request for one list: 200, 304 or 412. */
export type SelectRepresentation = (request: ListRequest) => MaybePromise<Outcome>;

const JSON_TYPE = ['Content-Type', 'application/json'];

/** The header fields of a 304, and of a 200, for a list without a tag. */
export const CACHE_FIELDS: readonly string[] = ['Cache-Control', PRIVATE];
export const STREAM_FIELDS: readonly string[] = [...JSON_TYPE, ...CACHE_FIELDS];

/**
 * Lists with fewer bytes than this are not compressed. Compression would save only a few hundred
 * bytes, and the response fits into one network packet anyway.
 */
const MIN_COMPRESSED_BYTES = 1_024;

const CHUNK_BYTES = 65_536;
const BROTLI_PARAMETERS = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 };

/**
 * Both compressors take half the time of gzip at zlib's default level, and reduce the list to a
 * sixth of its length. Higher levels take more time and gain little.
 */
const COMPRESSORS = {
  gzip: () => createGzip({ level: 4, chunkSize: CHUNK_BYTES }),
  br: () => createBrotliCompress({ params: BROTLI_PARAMETERS, chunkSize: CHUNK_BYTES }),
};

/**
 * Creates the selector for a serialised list, or for another body that never changes.
 * `contentFields` are header fields of its 200, `cacheFields` of its 200 and its 304. The body is
 * compressed when a client first accepts a coding, once for each coding, on zlib's threads.
 */
export function createRepresentationSelector(
  { body, digest }: SerializedList,
  contentFields = JSON_TYPE,
  cacheFields = CACHE_FIELDS,
): SelectRepresentation {
  const identity = outcomeOf('identity', body);
  const compressed = new Map<Coding, Promise<Outcome>>();

  function compress(coding: Exclude<Coding, 'identity'>): Promise<Outcome> {
    const pieces = isPieces(body) ? body : [Buffer.from(body)];
    const bytes = collect(Readable.from(pieces).pipe(COMPRESSORS[coding]()));
    const outcome = bytes.then((coded) => outcomeOf(coding, coded));
    compressed.set(coding, outcome);
    // After a failed compression, the next request tries again.
    outcome.catch(() => compressed.delete(coding));
    return outcome;
  }

  function outcomeOf(coding: Coding, coded: SerializedList['body']): Outcome {
    const encoding = coding === 'identity' ? [] : ['Content-Encoding', coding];
    const fields = [...contentFields, ...encoding, ...commonFields(coding), 'Content-Length', `${coded.length}`];
    return { status: 200, fields, body: coded };
  }

  /** Returns the header fields that a 200 and a 304 have in common (RFC 9110 §15.4.5). */
  function commonFields(coding: Coding): string[] {
    return [...cacheFields, 'ETag', entityTag(digest, coding), 'Vary', 'Accept-Encoding'];
  }

  return ({ ifMatch, ifNoneMatch, acceptEncoding }) => {
    const coding = body.length < MIN_COMPRESSED_BYTES ? 'identity' : preferredCoding(acceptEncoding);
    // The conditions are checked in the sequence of RFC 9110 §13.2.2. `If-Unmodified-Since` is
    // ignored (§13.1.4), because the list has no modification date.
    const tag = entityTag(digest, coding);
    if (ifMatch !== undefined && !namesTag(ifMatch, tag, 'strong')) return errorOutcome('precondition_failed');
    if (ifNoneMatch !== undefined && namesTag(ifNoneMatch, tag, 'weak')) {
      return { status: 304, fields: commonFields(coding), body: undefined };
    }
    if (coding === 'identity') return identity;
    return compressed.get(coding) ?? compress(coding);
  };
}
