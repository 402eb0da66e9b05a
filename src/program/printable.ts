/**
 * Replaces control characters with their escapes, such as `\u001b`. Text of a client or from the
 * database could otherwise control the terminal: recolour it, retitle it or overwrite its lines.
 */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
