/** Returns whether the text is `*`, or an origin exactly as browsers send it. */
export function isOrigin(text: unknown): text is string {
  return text === '*' || (typeof text === 'string' && URL.canParse(text) && new URL(text).origin === text);
}
