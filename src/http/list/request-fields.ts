/** The parts of a request that decide how the list is sent. */
export interface ListRequest {
  readonly method: string | undefined;
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
}

/**
 * The fields that select a representation. Repeated fields are joined into one list (RFC 9110
 * §5.3).
 */
export interface ListFields {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly acceptEncoding: string | undefined;
}

/** Reads the header fields in one pass. Compares lengths first, because few fields matter. */
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
