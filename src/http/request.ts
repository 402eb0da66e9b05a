import type { ClientAddress } from './client-address.js';

/**
 * The parts of a request that the service reads. They have the names of Node.js, so that an
 * `IncomingMessage` can be passed.
 */
export interface RequestHead {
  readonly method?: string | undefined;
  /** The request target: a path with or without query, or an absolute URL (RFC 9112 §3.2). */
  readonly url?: string | undefined;
  /** Alternating names and values of the header fields as received, with all repetitions. */
  readonly rawHeaders: readonly string[];
  /**
   * The header fields by name. They are read only if `rawHeaders` is empty, because some emulations
   * of node:http fill only `headers`.
   */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined;
  /**
   * If this is `1.1`, the request must have a Host field. Absent if the request did not come over
   * HTTP, or if a runtime has already checked its Host.
   */
  readonly httpVersion?: string | undefined;
  /** The stream of an HTTP/2 request. Absent in HTTP/1, even if the request line claims HTTP/2. */
  readonly stream?: unknown;
  /** Whether the client has hung up. Read after a request has waited. */
  readonly aborted?: boolean | undefined;
  /** The connection of the request. */
  readonly socket?: { readonly destroyed?: boolean | undefined } | null | undefined;
}

/**
 * Reports whether the client has hung up. With the option `optimizeEmptyRequests` of node:http, only
 * the connection tells.
 */
function isAborted({ aborted, socket }: RequestHead): boolean {
  return aborted === true || socket?.destroyed === true;
}

/** Returns the request with another target, for frameworks that rewrite `url`. */
export function withTarget(request: RequestHead, url: string): RequestHead {
  const { method, rawHeaders, httpVersion, stream } = withRawHeaders(request);
  return {
    method,
    url,
    rawHeaders,
    httpVersion,
    stream,
    get aborted() {
      return isAborted(request);
    },
  };
}

/**
 * Returns the request with its header fields in `rawHeaders`. A request that has them only in
 * `headers` was not received over HTTP, so it needs no Host. In such a request, a field is repeated
 * only if its value is an array.
 */
export function withRawHeaders(request: RequestHead): RequestHead {
  // Node.js builds `headers` on its first read, which takes a tenth of the time of a small request.
  if (request.rawHeaders?.length > 0) return request;
  const { method, url, headers = {}, httpVersion, stream } = request;
  const rawHeaders = Object.entries(headers).flatMap(([name, value = []]) =>
    [value].flat().flatMap((item) => [name, String(item)]),
  );
  return { method, url, rawHeaders, httpVersion: rawHeaders.length > 0 ? undefined : httpVersion, stream };
}

/** A request with the few header fields that the service uses, read and checked. */
export interface ReadRequest {
  readonly method: string | undefined;
  readonly target: string | undefined;
  readonly clientAddress: ClientAddress;
  /** The time at which the head was read, or 0 if nobody gets the message of the reply. */
  readonly startedMs: number;
  readonly apiKey: string | undefined;
  /** The error code if there is no `apiKey`. */
  readonly keyFault: 'missing_api_key' | 'invalid_api_key';
  /** Whether the request has content, which is never read: the connection cannot be reused. */
  readonly hasContent: boolean;
  /** The error code if the request must be refused before its key is checked. */
  readonly fault: FaultCode | undefined;
  /** Whether this is an HTTP/2 request: its response must have no `Connection` (RFC 9113 §8.2.2). */
  readonly isMultiplexed: boolean;
  /** A safe `X-Request-Id`. */
  readonly requestId: string | undefined;
  /** A valid `traceparent` (W3C Trace Context). */
  readonly traceparent: string | undefined;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly acceptEncoding: string | undefined;
  /** Reports whether the client has hung up. */
  readonly isAborted: () => boolean;
}

/** The reasons for which a request is refused before its key is checked. */
export type FaultCode = 'bad_request' | 'request_timeout' | 'headers_too_large' | 'method_not_implemented';

/**
 * A request with this many names and values of header fields is refused, because Node.js 20 drops
 * further fields by default. A dropped field could be a second `Authorization`.
 */
const MAX_HEADER_ITEMS = 2_000;

export function readRequest(head: RequestHead, clientAddress: ClientAddress, startedMs: number): ReadRequest {
  const { method, url: target, rawHeaders, httpVersion, stream } = withRawHeaders(head);
  const isMultiplexed = stream !== undefined;
  let authorization: string | undefined;
  let hasTwoCredentials = false;
  let host: string | undefined;
  let contentLength: string | undefined;
  let transferEncoding: string | undefined;
  let requestId: string | undefined;
  let traceparent: string | undefined;
  let ifMatch: string | undefined;
  let ifNoneMatch: string | undefined;
  let acceptEncoding: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    const value = rawHeaders[i + 1] ?? '';
    switch (name.toLowerCase()) {
      case 'host':
        host = join(host, value);
        break;
      case 'if-match':
        ifMatch = join(ifMatch, value);
        break;
      case 'traceparent':
        traceparent = join(traceparent, value);
        break;
      case 'x-request-id':
        requestId = join(requestId, value);
        break;
      case 'if-none-match':
        ifNoneMatch = join(ifNoneMatch, value);
        break;
      case 'authorization':
        hasTwoCredentials = authorization !== undefined;
        authorization = join(authorization, value);
        break;
      case 'content-length':
        contentLength = join(contentLength, value);
        break;
      case 'accept-encoding':
        acceptEncoding = join(acceptEncoding, value);
        break;
      case 'transfer-encoding':
        transferEncoding = join(transferEncoding, value);
        break;
    }
  }
  // If a field is sent twice, the joined values are not a valid host, token or id.
  const isUnframed = transferEncoding !== undefined && !CHUNKED_LAST.test(transferEncoding);
  const isBadHost = host === undefined ? httpVersion === '1.1' : !isHost(host);
  const isBad = isBadHost || hasBadAuthority(target) || isUnframed || (httpVersion === '2.0' && !isMultiplexed);
  const isTooLarge = rawHeaders.length >= MAX_HEADER_ITEMS;
  const apiKey = authorization === undefined ? undefined : bearerToken(authorization);
  const isInvalidKey = apiKey === undefined && (hasTwoCredentials || BEARER_ATTEMPT.test(authorization ?? ''));
  if (requestId !== undefined && !REQUEST_ID.test(requestId)) requestId = undefined;
  if (traceparent !== undefined && !TRACEPARENT.test(traceparent)) traceparent = undefined;
  return {
    method,
    target,
    clientAddress,
    startedMs,
    apiKey,
    keyFault: isInvalidKey ? 'invalid_api_key' : 'missing_api_key',
    hasContent: transferEncoding !== undefined || (contentLength !== undefined && contentLength !== '0'),
    fault: isTooLarge ? 'headers_too_large' : isBad ? 'bad_request' : undefined,
    isMultiplexed,
    requestId,
    traceparent,
    ifMatch,
    ifNoneMatch,
    acceptEncoding,
    isAborted: () => isAborted(head),
  };
}

/** Joins the values of a field that is sent more than once (RFC 9110 §5.3). */
function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

/** After any other last coding than `chunked`, the end of the content is unknown (RFC 9112 §6.3). */
const CHUNKED_LAST = /(?:^|,)[ \t]*chunked[ \t]*$/i;

/** Matches an id of characters that need no escaping in a header field, a log or a shell. */
const REQUEST_ID = /^[\w.:+/=@-]{1,128}$/;

/**
 * Matches `version-traceid-parentid-flags` (W3C Trace Context §3.2.2). Version ff and ids of zeros
 * are invalid. In a version above 00, further text may follow the flags.
 */
const TRACEPARENT =
  /^(?!ff|00.{53}-|.{3}0{32}-|.{36}0{16}-)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-[\w.:+/=@-]{0,200})?$/;

/** Matches `uri-host [ ":" port ]` with a non-empty host (RFC 9110 §7.2, RFC 3986 §3.2.2). */
const HOST = /^(?:(?!:|$)[\w.~!$&'()*+,;=-]*(?:%[\dA-Fa-f]{2}[\w.~!$&'()*+,;=-]*)*|\[[\dA-Fa-f:.]+\])(?::\d*)?$/;

function isHost(value: string): boolean {
  return HOST.test(value);
}

/** Matches a target in absolute form: its authority, and the rest (RFC 9112 §3.2.2). */
export const ABSOLUTE = /^https?:\/\/([^/?#]+)(.*)$/i;

function hasBadAuthority(target = ''): boolean {
  const authority = target.startsWith('/') ? undefined : ABSOLUTE.exec(target)?.[1];
  return authority !== undefined && !isHost(authority);
}

/**
 * Matches `Bearer` in any case (RFC 9110 §11.1), spaces, and a token (RFC 6750 §2.1). In HTTP/2,
 * Node.js keeps the spaces at the end of a field.
 */
const BEARER = /^bearer +[A-Za-z0-9._~+/-]+=* *$/i;

export function bearerToken(value: string): string | undefined {
  return BEARER.test(value) ? value.slice('bearer '.length).trim() : undefined;
}

/** Matches a token after `Bearer`, valid or not, even if another credential comes first. */
const BEARER_ATTEMPT = /(?:^|, )bearer +[^ ]/i;
