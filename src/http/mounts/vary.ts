/**
 * The fields of a reply in a host that has said already by what its answers vary: they may vary by more than the service
 * knows (RFC 9110 §12.5.5).
 */
export function withVary(headers: string[], hosts: unknown): string[] {
  if (hosts === undefined || hosts === '') return headers;
  return headers.map((value, index) =>
    index % 2 === 1 && headers[index - 1] === 'Vary' ? `${hosts}, ${value}` : value,
  );
}
