import { types } from 'node:util';
import type { MaybePromise } from '../orders/index.js';
import { type AdmissionOptions, createAdmission, type Verdict } from './admission.js';
import { type ClientAddress, resolveAddress } from './client-address.js';
import { HostFailure } from './host-part.js';
import { after, attempt } from './maybe-promise.js';
import {
  errorOutcome,
  isPieces,
  isStream,
  isTaken,
  type Outcome,
  outcomeOfFailure,
  type Reply,
  type StreamEnd,
} from './reply.js';
import { createFailureWarning, hostErrorOf, type ReplyMessage, replies, withoutKey } from './reporting.js';
import { type ReadRequest, type RequestHead, readRequest } from './request.js';
import { type Asked, pathOf } from './route.js';

/** A path that needs no key. Each request for it is charged to its client's address. */
export interface OpenPath {
  /** The methods that the path supports, as in the field `Allow`. Default: `GET, HEAD`. */
  readonly allow?: string | undefined;
  /**
   * Whether a request is served even if its address is over the limit, or the limiter fails. The
   * charge then only decides whether the connection is closed. A 200 is not published, because
   * probes would fill the log. Default: false.
   */
  readonly isAlwaysServed?: boolean | undefined;
  /**
   * Returns what the path responds. If it throws or rejects, the client receives a 503. Text is sent
   * in UTF-8, and bytes and text with their `Content-Length`. A HEAD request gets no body.
   */
  perform(request: ReadRequest): MaybePromise<PathOutcome>;
}

/** An {@link Outcome} of which only the status is required. */
interface PathOutcome extends Omit<Partial<Outcome>, 'status' | 'fields'> {
  readonly status: number;
  readonly fields?: readonly string[] | undefined;
}

/** What a message reports: the reply to a request, and what led to it. */
interface Publication {
  readonly request: ReadRequest;
  readonly verdict: Verdict;
  readonly outcome: Outcome;
  readonly asked: Asked | undefined;
  readonly bytes: number;
  readonly isCutOff?: boolean | undefined;
}

interface ReplyOptions {
  readonly asked?: Asked | undefined;
  /** Whether the connection closes after the reply. */
  readonly isLast?: boolean;
  /** Whether the reply is kept off the diagnostics channel. */
  readonly isQuiet?: boolean;
}

const MAX_PATH_LENGTH = 1_024;

/**
 * The way into the service and out of it: `read` a request, then `admit` or `charge` it, then
 * `reply` with the outcome. No method throws or rejects.
 */
export type FrontDoor = ReturnType<typeof createFrontDoor>;

/** Creates a front door. A failure that no channel and no option reports becomes a process warning. */
export function createFrontDoor(options: AdmissionOptions) {
  const { onReply, onFailure } = options;
  const warn = createFailureWarning();

  /** Returns whether somebody gets the message of a reply. A long list can still be truncated. */
  function isWanted({ body, error }: Outcome): boolean {
    if (replies.hasSubscribers || onReply !== undefined) return true;
    return onFailure !== undefined && (error !== undefined || isStream(body) || isTaken(body));
  }

  function publish({ request, verdict, outcome, asked, bytes, isCutOff }: Publication): void {
    const { requestId, traceparent, method, target, clientAddress, startedMs, apiKey } = request;
    const { status, code, error } = outcome;
    if (!isWanted(outcome)) {
      if (error !== undefined) warn(error, asked?.operation, apiKey);
      return;
    }
    const tell = (name: 'onReply' | 'onFailure') =>
      attempt(
        () => options[name]?.(message),
        (failure) => warn(new HostFailure(`${name} failed`, failure), undefined, apiKey),
      );
    const message: ReplyMessage = {
      requestId: requestId && withoutKey(requestId, apiKey),
      traceparent,
      method,
      path: target && withoutKey(pathOf(target.split('#', 1)[0] ?? ''), apiKey).slice(0, MAX_PATH_LENGTH),
      clientAddress: knownAddress(clientAddress),
      status,
      bytes,
      code,
      operation: asked?.operation,
      orderId: asked?.orderId,
      keyId: verdict.principal?.id,
      plan: verdict.plan.name,
      error: hostErrorOf(error),
      isCutOff,
      durationMs: performance.now() - startedMs,
    };
    if (replies.hasSubscribers) replies.publish(message);
    tell('onReply');
    if (error !== undefined) tell('onFailure');
  }

  function publishEnd(publication: Publication, { bytes, error }: StreamEnd): void {
    publish({ ...publication, outcome: { ...publication.outcome, error }, bytes });
  }

  const admission = createAdmission(options);

  function read(head: RequestHead, clientAddress?: ClientAddress): ReadRequest {
    const isTimed = replies.hasSubscribers || onReply !== undefined || onFailure !== undefined;
    return readRequest(head, clientAddress, isTimed ? performance.now() : 0);
  }

  /** Adds the header fields that every reply has, and publishes the reply. */
  function reply(read: ReadRequest, verdict: Verdict, outcome: Outcome, options: ReplyOptions = {}): Reply {
    const request = isWanted(outcome) ? withId(read) : read;
    const { method, requestId, hasContent, fault, isMultiplexed } = request;
    const { chargedTo, principal } = verdict;
    const isAddressOverLimit = chargedTo === 'address' && verdict.refusal?.status === 429;
    const { asked, isLast = false, isQuiet = false } = options;
    const headers = [...outcome.fields, ...verdict.limitFields];
    // Without a valid key, each request over the limit costs the client a new connection, which
    // slows down a flood.
    const closesConnection = isLast || hasContent || fault !== undefined || isAddressOverLimit;
    if (closesConnection && !isMultiplexed) headers.push('Connection', 'close');
    if (requestId !== undefined) headers.push('X-Request-Id', requestId);
    const body = method === 'HEAD' ? undefined : outcome.body;
    const bytes = body === undefined || isStream(body) ? 0 : body.length;
    const publication = { request, verdict, outcome, asked, bytes };
    if (isStream(body)) body.ended.then((end) => publishEnd(publication, end));
    else if (!isQuiet) publish(publication);
    if (isTaken(body)) body.cut.then((end) => publishEnd({ ...publication, isCutOff: true }, end));
    return { status: outcome.status, headers, body, chargedTo, keyId: principal?.id, isAddressOverLimit };
  }

  /** Responds to a request that needs no key, and charges it to its client's address. */
  function serve(head: RequestHead, clientAddress: ClientAddress, path: OpenPath): MaybePromise<Reply> {
    const { isAlwaysServed = false } = path;
    const request = read(head, clientAddress);
    return after(admission.charge(request), (verdict) => {
      const isServed = verdict.refusal === undefined || (isAlwaysServed && request.fault === undefined);
      const outcome = isServed ? attempt(() => performOn(path, request), outcomeOfFailure) : verdict.refusal;
      return after(outcome, (settled) =>
        reply(request, verdict, settled, { isQuiet: isAlwaysServed && settled.status === 200 }),
      );
    });
  }

  return { ...admission, read, reply, serve };
}

/** Returns the request with an id, which is a new one if the client has sent none. */
function withId(request: ReadRequest): ReadRequest {
  return request.requestId === undefined ? { ...request, requestId: crypto.randomUUID() } : request;
}

function performOn(path: OpenPath, request: ReadRequest): MaybePromise<Outcome> {
  const { allow = 'GET, HEAD' } = path;
  if (!allow.split(', ').includes(request.method ?? '')) return errorOutcome('method_not_allowed', 'Allow', allow);
  return after(path.perform(request), toOutcome);
}

function toOutcome(returned: PathOutcome): Outcome {
  checkOutcome(returned);
  const { fields = [], body, ...outcome } = returned;
  // Such a response has no content (RFC 9110 §15.3.5, §15.3.6, §15.4.5), and a Response refuses any.
  if ([204, 205, 304].includes(outcome.status)) return { ...outcome, fields, body: undefined };
  const content = typeof body === 'string' ? Buffer.from(body) : body;
  const isCounted = !types.isUint8Array(content) || fields.some((name) => /^content-length$/i.test(name));
  return {
    ...outcome,
    fields: isCounted ? fields : [...fields, 'Content-Length', `${content.length}`],
    body: content,
  };
}

/** The name and the value of a header field (RFC 9110 §5.1, §5.5). */
const FIELD = [/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, /^[\t -~\x80-\xff]*$/] as const;

/** Throws a TypeError if a host could not write the outcome: the writing could end its process. */
function checkOutcome(returned: PathOutcome): void {
  const { status, fields = [], body }: Readonly<Record<string, unknown>> = Object(returned);
  const isWritable = typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599;
  if (!isWritable) throw new TypeError(`perform returned the status ${String(status)}: expected 200 to 599`);
  const areFields =
    Array.isArray(fields) &&
    fields.length % 2 === 0 &&
    fields.every((text, i) => typeof text === 'string' && FIELD[i % 2 === 0 ? 0 : 1].test(text));
  if (!areFields) throw new TypeError('perform returned invalid fields: expected names and values, alternating');
  const isBody = body === undefined || typeof body === 'string' || types.isUint8Array(body) || isPieces(body);
  if (!isBody) throw new TypeError('perform returned an invalid body: expected text or bytes');
}

/** Returns the client's address, or `undefined` if the function that determines it throws. */
function knownAddress(clientAddress: ClientAddress): string | undefined {
  try {
    return resolveAddress(clientAddress);
  } catch {
    return undefined;
  }
}
