import { forEachField } from '../reply.js';

/**
 * Puts the host's `Vary` before the `Vary` of the reply, because the host's responses may depend on
 * other request fields too (RFC 9110 §12.5.5).
 */
export function withVary(headers: string[], hosts: unknown): string[] {
  if (hosts === undefined || hosts === '') return headers;
  const fields: string[] = [];
  forEachField(headers, (name, value) => fields.push(name, name === 'Vary' ? `${hosts}, ${value}` : value));
  return fields;
}
