/** What the service reads of a request. Node's names, so that an `IncomingMessage` is one. */
export interface RequestHead {
  readonly method?: string | undefined;
  /** The request target: a path with or without query, or an absolute URL (RFC 9112 §3.2). */
  readonly url?: string | undefined;
  /** Names and values in turn, as received: a field that came twice is there twice. */
  readonly rawHeaders: readonly string[];
  /** Only HTTP/1.1 demands a Host field; absent where there is no HTTP, or where a runtime has checked that. */
  readonly httpVersion?: string | undefined;
}

export interface ReadHead {
  /** The bearer token. */
  readonly apiKey: string | undefined;
  /** Why there is none. */
  readonly keyFault: KeyFault;
  /** A GET or DELETE with content (RFC 9110 §9.3.1): it is not read, so the connection cannot be used again. */
  readonly hasContent: boolean;
  /** More than one Host field, an empty one, or in HTTP/1.1 none (RFC 9112 §3.2). */
  readonly hasBadHost: boolean;
  /** HTTP/2, where a request has a stream of its own and `Connection` must not be sent (RFC 9113 §8.2.2). */
  readonly isMultiplexed: boolean;
}

type KeyFault = 'missing_api_key' | 'invalid_api_key';

/** The head of what could not be read as a request. */
export const UNREADABLE: ReadHead = {
  apiKey: undefined,
  keyFault: 'missing_api_key',
  hasContent: true,
  hasBadHost: true,
  isMultiplexed: false,
};

/** One pass over the header fields. The few that matter are told apart by their length first. */
export function readHead(rawHeaders: readonly string[], httpVersion?: string): ReadHead {
  let apiKey: string | undefined;
  let keyFault: KeyFault = 'missing_api_key';
  let authorizations = 0;
  let hosts = 0;
  let hasContent = false;
  let hasEmptyHost = false;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    const value = rawHeaders[i + 1] ?? '';
    switch (name.length) {
      case 4:
        if (name.toLowerCase() !== 'host') break;
        hosts++;
        hasEmptyHost ||= value === '';
        break;
      case 13:
        if (name.toLowerCase() !== 'authorization') break;
        authorizations++;
        apiKey = bearerToken(value);
        if (apiKey === undefined && isMalformedBearer(value)) keyFault = 'invalid_api_key';
        break;
      case 14:
        if (name.toLowerCase() === 'content-length' && value !== '0') hasContent = true;
        break;
      case 17:
        if (name.toLowerCase() === 'transfer-encoding') hasContent = true;
        break;
    }
  }
  if (authorizations > 1) {
    // Two credentials are an ambiguous one: whoever reads the first and whoever reads the last would disagree.
    apiKey = undefined;
    keyFault = 'invalid_api_key';
  }
  return {
    apiKey,
    keyFault,
    hasContent,
    hasBadHost: hosts > 1 || hasEmptyHost || (hosts === 0 && httpVersion === '1.1'),
    isMultiplexed: httpVersion === '2.0',
  };
}

/** RFC 6750 §2.1: `Bearer`, in any case (RFC 9110 §11.1), spaces, and a token of these characters. */
const BEARER = /^bearer +[A-Za-z0-9._~+/-]+=* *$/i;
const BEARER_SCHEME = /^bearer(?: |$)/i;

export function bearerToken(value: string): string | undefined {
  return BEARER.test(value) ? value.slice('bearer '.length).trim() : undefined;
}

/** Another scheme, or the bare word, is no key; anything else after the scheme is one that is malformed. */
function isMalformedBearer(value: string): boolean {
  return BEARER_SCHEME.test(value) && value.trim().length > 'bearer'.length;
}
