/** What an answer with the list depends on. */
export interface ListRequest {
  readonly method: string | undefined;
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
}

/** The value of a field, named in lower case; those of a field that came more than once as one list (RFC 9110 §5.3). */
export function fieldOf({ rawHeaders }: ListRequest, name: string): string | undefined {
  let joined: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.length !== name.length || rawHeaders[i]?.toLowerCase() !== name) continue;
    joined = joined === undefined ? rawHeaders[i + 1] : `${joined}, ${rawHeaders[i + 1]}`;
  }
  return joined;
}
