/** What an answer with the list depends on. */
export interface ListRequest {
  readonly method: string | undefined;
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
}

/**
 * The fields that select a representation; those that came more than once as one list (RFC 9110
 * §5.3).
 */
export interface ListFields {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly acceptEncoding: string | undefined;
}

/** One pass over the header fields. The few that matter are told apart by their length first. */
export function readListFields({ rawHeaders }: ListRequest): ListFields {
  let ifMatch: string | undefined;
  let ifNoneMatch: string | undefined;
  let acceptEncoding: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    const value = rawHeaders[i + 1] ?? '';
    switch (name.length) {
      case 8:
        if (name.toLowerCase() === 'if-match') ifMatch = join(ifMatch, value);
        break;
      case 13:
        if (name.toLowerCase() === 'if-none-match') ifNoneMatch = join(ifNoneMatch, value);
        break;
      case 15:
        if (name.toLowerCase() === 'accept-encoding') acceptEncoding = join(acceptEncoding, value);
        break;
    }
  }
  return { ifMatch, ifNoneMatch, acceptEncoding };
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}
