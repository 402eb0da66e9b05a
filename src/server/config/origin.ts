/** Returns whether the text is an origin as browsers send it, or `*`. */
export function isOrigin(text: unknown): text is string {
  return text === '*' || (typeof text === 'string' && URL.canParse(text) && new URL(text).origin === text);
}
