import { pipeline, Readable } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import type { Coding } from './accept-encoding.js';
import { type SerializedList, sharedBody } from './body.js';

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

/** Compresses the list on zlib's threads. */
export async function compress(
  body: SerializedList['body'],
  coding: Exclude<Coding, 'identity'>,
): Promise<SerializedList['body']> {
  const pieces = typeof body === 'string' ? [Buffer.from(body)] : body instanceof Uint8Array ? [body] : body;
  const parts: Uint8Array[] = [];
  for await (const part of pipeline(Readable.from(pieces), COMPRESSORS[coding](), () => {})) parts.push(part);
  return sharedBody(parts);
}
