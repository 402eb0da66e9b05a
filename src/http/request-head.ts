/** What the service reads of a request. Node's names, so that an `IncomingMessage` is one. */
export interface RequestHead {
  readonly method?: string | undefined;
  /** The request target: a path with or without query, or an absolute URL (RFC 9112 §3.2). */
  readonly url?: string | undefined;
  /** Names and values in turn, as received: a field that came twice is there twice. */
  readonly rawHeaders: readonly string[];
  /**
   * Only HTTP/1.1 demands a Host field; absent where there is no HTTP, or where a runtime has
   * checked that.
   */
  readonly httpVersion?: string | undefined;
  /**
   * The stream of an HTTP/2 request; absent in HTTP/1, whatever version the request line claims.
   */
  readonly stream?: unknown;
}

/** The request with another target, for hosts that rewrite it. */
export function withTarget({ method, rawHeaders, httpVersion, stream }: RequestHead, url: string): RequestHead {
  return { method, url, rawHeaders, httpVersion, stream };
}

export interface ReadHead {
  /** The bearer token. */
  readonly apiKey: string | undefined;
  /** Why there is none. */
  readonly keyFault: KeyFault;
  /**
   * A GET or DELETE with content (RFC 9110 §9.3.1): it is not read, so the connection cannot be
   * used again.
   */
  readonly hasContent: boolean;
  /** Why the request is refused before its key is looked at. */
  readonly fault: HeadFault | undefined;
  /**
   * Whether the request has a stream of its own, where `Connection` must not be sent (RFC 9113
   * §8.2.2).
   */
  readonly isMultiplexed: boolean;
  // The fields that select a representation; one that came more than once as one list (RFC 9110
  // §5.3).
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly acceptEncoding: string | undefined;
}

type KeyFault = 'missing_api_key' | 'invalid_api_key';
type HeadFault = 'bad_request' | 'headers_too_large';

/** The head of what could not be read as a request. */
export const UNREADABLE: ReadHead = {
  apiKey: undefined,
  keyFault: 'missing_api_key',
  hasContent: true,
  fault: 'bad_request',
  isMultiplexed: false,
  ifMatch: undefined,
  ifNoneMatch: undefined,
  acceptEncoding: undefined,
};

/**
 * Names and values, together. Node.js 20 drops what exceeds this number without a word, perhaps a
 * second credential, unless `maxHeadersCount` says otherwise. So a request that reaches it is
 * refused.
 */
const MAX_HEADER_ITEMS = 2_000;

/** One pass over the header fields. The few that matter are told apart by their length first. */
export function readHead({ rawHeaders, httpVersion, stream }: RequestHead): ReadHead {
  const isMultiplexed = stream !== undefined;
  let apiKey: string | undefined;
  let keyFault: KeyFault = 'missing_api_key';
  let authorizations = 0;
  let hosts = 0;
  let hasContent = false;
  let ifMatch: string | undefined;
  let ifNoneMatch: string | undefined;
  let acceptEncoding: string | undefined;
  let isBad = httpVersion === '2.0' && !isMultiplexed;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    const value = rawHeaders[i + 1] ?? '';
    switch (name.length) {
      case 4:
        if (name.toLowerCase() !== 'host') break;
        hosts++;
        isBad ||= !isHost(value);
        break;
      case 8:
        if (name.toLowerCase() === 'if-match') ifMatch = join(ifMatch, value);
        break;
      case 13:
        if (name.toLowerCase() === 'if-none-match') ifNoneMatch = join(ifNoneMatch, value);
        if (name.toLowerCase() !== 'authorization') break;
        authorizations++;
        apiKey = bearerToken(value);
        if (apiKey === undefined && isMalformedBearer(value)) keyFault = 'invalid_api_key';
        break;
      case 14:
        if (name.toLowerCase() === 'content-length' && value !== '0') hasContent = true;
        break;
      case 15:
        if (name.toLowerCase() === 'accept-encoding') acceptEncoding = join(acceptEncoding, value);
        break;
      case 17:
        if (name.toLowerCase() === 'transfer-encoding') hasContent = true;
        break;
    }
  }
  if (authorizations > 1) {
    // Two credentials are ambiguous: a proxy that reads the first and a server that reads the last
    // would disagree.
    apiKey = undefined;
    keyFault = 'invalid_api_key';
  }
  isBad ||= hosts > 1 || (hosts === 0 && httpVersion === '1.1');
  const isTooLarge = rawHeaders.length >= MAX_HEADER_ITEMS;
  const fault = isTooLarge ? 'headers_too_large' : isBad ? 'bad_request' : undefined;
  return { apiKey, keyFault, hasContent, fault, isMultiplexed, ifMatch, ifNoneMatch, acceptEncoding };
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

/**
 * `uri-host [ ":" port ]`, where the host is not empty (RFC 9110 §4.2.1, §7.2; RFC 3986 §3.2.2).
 */
const HOST = /^(?:\[[0-9a-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[0-9a-f]{2})+)(?::[0-9]*)?$/i;

/** The one that most requests have: comparing is cheaper than matching. */
let validHost = 'localhost';

export function isHost(value: string): boolean {
  if (value === validHost) return true;
  if (!HOST.test(value)) return false;
  validHost = value;
  return true;
}

/**
 * RFC 6750 §2.1: `Bearer`, in any case (RFC 9110 §11.1), spaces, and a token of these characters.
 */
const BEARER = /^bearer +[A-Za-z0-9._~+/-]+=* *$/i;
const BEARER_SCHEME = /^bearer(?: |$)/i;

export function bearerToken(value: string): string | undefined {
  return BEARER.test(value) ? value.slice('bearer '.length).trim() : undefined;
}

/**
 * Another scheme, or the bare word, is no key; anything else after the scheme is one that is
 * malformed.
 */
function isMalformedBearer(value: string): boolean {
  return BEARER_SCHEME.test(value) && value.trim().length > 'bearer'.length;
}
