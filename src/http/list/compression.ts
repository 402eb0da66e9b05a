import { pipeline, Readable } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import type { Coding } from './accept-encoding.js';
import type { Produce } from './replayable-bytes.js';

/**
 * Lists with fewer bytes than this are not compressed. Compression would save only a few hundred
 * bytes, and the response fits into one network packet anyway.
 */
export const LEAST_COMPRESSED = 1_024;

const PIECE_BYTES = 65_536;

const BROTLI_PARAMETERS = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 };

/**
 * Both compressors take half the time of gzip at zlib's default level, and reduce the list to a
 * sixth of its length. Higher levels take more time and gain little.
 */
const COMPRESSORS = {
  gzip: () => createGzip({ level: 4, chunkSize: PIECE_BYTES }),
  br: () => createBrotliCompress({ params: BROTLI_PARAMETERS, chunkSize: PIECE_BYTES }),
};

/**
 * Creates a producer of the compressed list, which is compressed on zlib's threads. The producer
 * returns an empty text instead of a digest, because the entity tag is made from the digest of the
 * uncompressed list.
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
