import { pipeline, Readable } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import type { Coding } from './accept-encoding.js';
import type { Produce } from './replayable-bytes.js';

/**
 * In bytes. What is compressed may be some hundred bytes smaller than this, and then fits into one
 * packet anyway.
 */
export const LEAST_COMPRESSED = 1_024;

const PIECE_BYTES = 65_536;

const BROTLI_PARAMETERS = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 };

/**
 * Levels at which more time gains little: half the time of zlib's own default for gzip, a sixth of
 * the list in both.
 */
const COMPRESSORS = {
  gzip: () => createGzip({ level: 4, chunkSize: PIECE_BYTES }),
  br: () => createBrotliCompress({ params: BROTLI_PARAMETERS, chunkSize: PIECE_BYTES }),
};

/**
 * Produces the compressed list, in zlib's threads. The digest is that of nothing: the list itself
 * has one.
 */
export function compress(pieces: AsyncIterable<Uint8Array>, coding: Exclude<Coding, 'identity'>): Produce {
  return async (add) => {
    const compressor = pipeline(Readable.from(pieces), COMPRESSORS[coding](), () => {});
    let parts: Uint8Array[] = [];
    let length = 0;
    for await (const part of compressor) {
      parts.push(part);
      length += part.length;
      if (length < PIECE_BYTES) continue;
      add(Buffer.concat(parts));
      parts = [];
      length = 0;
    }
    add(Buffer.concat(parts));
    return '';
  };
}
