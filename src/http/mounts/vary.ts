import { forEachField } from '../reply.js';

/**
 * Adds the host's `Vary` to the reply's fields, because the host's responses may vary by other
 * fields too (RFC 9110 §12.5.5).
 */
export function withVary(headers: string[], hosts: unknown): string[] {
  if (hosts === undefined || hosts === '') return headers;
  const fields: string[] = [];
  forEachField(headers, (name, value) => fields.push(name, name === 'Vary' ? `${hosts}, ${value}` : value));
  return fields;
}
