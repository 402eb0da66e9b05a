import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { API_KEY_PREFIX } from '../masked.js';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_LENGTH = 32;
/** Six base62 characters can hold any CRC-32, because 62^6 is above 2^32. */
const CHECKSUM_LENGTH = 6;

const API_KEY = new RegExp(`^${API_KEY_PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

/**
 * Creates an API key: `so_`, 190 random bits in base62, and a checksum. The checksum detects a
 * mistyped key without a look-up, and lets scanners for leaked secrets recognise an API key.
 */
export function createApiKey(): string {
  const body = API_KEY_PREFIX + randomBase62(SECRET_LENGTH);
  return body + checksum(body);
}

/** Returns whether the text has the form and checksum of a key, which may never have been issued. */
export function isApiKey(text: string): boolean {
  return API_KEY.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)));
}

/** Returns the SHA-256 of a key in hex. A random key needs neither salt nor a slow hash. */
export function keyDigest(apiKey: string): string {
  return hash('sha256', apiKey, 'hex');
}

/** Returns random base62 characters. Every character is equally likely. */
export function randomBase62(length: number): string {
  return Array.from({ length }, () => BASE62[randomInt(BASE62.length)]).join('');
}

function checksum(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = BASE62[rest % BASE62.length] + text;
    rest = Math.floor(rest / BASE62.length);
  }
  return text;
}
