import { checkFields, checkOneOf } from '../check.js';
import type { PutOptions } from './store.js';

/**
 * Returns whether `put` may overwrite existing orders. Throws a TypeError that names an unknown or
 * invalid option.
 */
export function isReplacing(options: PutOptions = {}): boolean {
  checkFields('options', options, ['replace']);
  const { replace = false } = options;
  checkOneOf('replace', replace, [true, false]);
  return replace;
}
