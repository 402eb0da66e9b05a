import { createHash, type Hash } from 'node:crypto';
import type { Coding } from './accept-encoding.js';

/** Returns 132 bits of SHA-256 as text. */
export function digestOf(content: string | Uint8Array): string {
  return endDigest(createHash('sha256').update(content));
}

/** Returns the same digest of content that was hashed piece by piece. */
export function endDigest(hash: Hash): string {
  return hash.digest('base64url').slice(0, 22);
}

/** Returns a strong entity tag. Each coding has a different one (RFC 9110 §8.8.3.3). */
export function entityTag(digest: string, coding: Coding): string {
  return coding === 'identity' ? `"${digest}"` : `"${digest}-${coding}"`;
}

const TAG = /(W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;
/** Matches entity tags separated by commas. Empty elements are allowed (RFC 9110 §5.6.1.2). */
const TAGS = new RegExp(`^[ \\t]*(?:${TAG.source}[ \\t]*)?(?:,[ \\t]*(?:${TAG.source}[ \\t]*)?)*$`);

/**
 * Reports whether `field` is `*` or contains `tag` (RFC 9110 §8.8.3.2, §13.1.1, §13.1.2). Use
 * `strong` for `If-Match` and `weak` for `If-None-Match`. The weak comparison ignores a prefix `W/`
 * of the tags in `field`. A malformed field contains no tags.
 */
export function namesTag(field: string, tag: string, comparison: 'strong' | 'weak'): boolean {
  if (field.trim() === '*') return true;
  if (!TAGS.test(field)) return false;
  for (const [, weak, listed] of field.matchAll(TAG)) {
    if (listed === tag && (weak === undefined || comparison === 'weak')) return true;
  }
  return false;
}
