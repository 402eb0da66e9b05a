import { createHash } from 'node:crypto';
import type { Coding } from './accept-encoding.js';

/** 132 bits of SHA-256, as text. */
export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 22);
}

/** A strong entity tag; that of each coding is another (RFC 9110 §8.8.3.3). */
export function entityTag(digest: string, coding: Coding): string {
  return coding === 'identity' ? `"${digest}"` : `"${digest}-${coding}"`;
}

const TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Whether `If-None-Match` names the tag, by the weak comparison, or any by `*` (RFC 9110 §13.1.2). */
export function namesTag(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  for (const [, listed] of ifNoneMatch.matchAll(TAG)) if (listed === tag) return true;
  return false;
}
