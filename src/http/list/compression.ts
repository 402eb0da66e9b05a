import { pipeline, Readable } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import type { Coding } from './accept-encoding.js';
import type { Produce } from './replayable-bytes.js';

/**
 * The shortest list that is compressed, in bytes. For a shorter one compression saves some hundred
 * bytes, and the response fits into one packet anyway.
 */
export const LEAST_COMPRESSED = 1_024;

const PIECE_BYTES = 65_536;

const BROTLI_PARAMETERS = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 };

/**
 * Beyond these levels, more time gains little. They take half the time of zlib's default for gzip,
 * and both reduce the list to a sixth.
 */
const COMPRESSORS = {
  gzip: () => createGzip({ level: 4, chunkSize: PIECE_BYTES }),
  br: () => createBrotliCompress({ params: BROTLI_PARAMETERS, chunkSize: PIECE_BYTES }),
};

/**
 * Compresses the list on zlib's threads. The digest is left empty, because the uncompressed list
 * already has one.
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
