import type { MaybePromise } from '../orders/index.js';
import { type AdmissionOptions, createAdmission, type Verdict } from './admission.js';
import { createFailureWarning, hostErrorOf, type ReplyMessage, replies, withoutKey } from './channel.js';
import { type ClientAddress, resolveAddress } from './client-address.js';
import { after, attempt } from './host-call.js';
import { isStream, type Outcome, outcomeOfFailure, type Reply, refusal } from './reply.js';
import { type ReadRequest, type RequestHead, readRequest } from './request.js';
import { type Asked, pathOf } from './route.js';

/** A path of the host that needs no key. */
export interface OpenPath {
  /** The methods that the path supports, as in the field `Allow`. */
  readonly allow: string;
  /**
   * Whether a request is served even if its address is over the limit, or the limiter fails. The
   * charge then only decides whether the connection is closed. A 200 is not published, because
   * probes would fill the log.
   */
  readonly isAlwaysServed?: boolean;
  readonly perform: (request: ReadRequest) => MaybePromise<Outcome>;
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

/** Functions of the program that get the messages of its own replies. They must not throw. */
export interface ReplyListeners {
  /** Called with the message of each reply. */
  readonly onReply?: ((message: ReplyMessage) => void) | undefined;
  /** Called with the message of each reply that has an error. */
  readonly onFailure?: ((message: ReplyMessage) => void) | undefined;
}

/**
 * Creates a front door. Calls `warn` with each failure that neither a listener nor a subscriber of
 * the channel gets.
 */
export function createFrontDoor(
  options: AdmissionOptions,
  { onReply, onFailure }: ReplyListeners = {},
  warn = createFailureWarning(),
) {
  /** Returns whether somebody gets the message of a reply. A streamed list can still fail. */
  function isWanted({ body, error }: Outcome): boolean {
    if (replies.hasSubscribers || onReply !== undefined) return true;
    return onFailure !== undefined && (error !== undefined || isStream(body));
  }

  function publish(request: ReadRequest, verdict: Verdict, outcome: Outcome, asked?: Asked, bytes?: number): void {
    const { requestId, traceparent, method, target, clientAddress, startedMs, apiKey } = request;
    const { status, code, error } = outcome;
    if (!isWanted(outcome)) {
      if (error !== undefined) warn(error, asked?.operation, apiKey);
      return;
    }
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
      durationMs: performance.now() - startedMs,
    };
    if (replies.hasSubscribers) replies.publish(message);
    onReply?.(message);
    if (error !== undefined) onFailure?.(message);
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
    if (isStream(body)) {
      body.ended.then(({ bytes, error }) => publish(request, verdict, { ...outcome, error }, asked, bytes));
    } else if (!isQuiet) publish(request, verdict, outcome, asked, body?.length ?? 0);
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

function performOn({ allow, perform }: OpenPath, request: ReadRequest): MaybePromise<Outcome> {
  if (allow.split(', ').includes(request.method ?? '')) return perform(request);
  return refusal('method_not_allowed', 'Allow', allow);
}

/** Returns the client's address, or `undefined` if the function that determines it throws. */
function knownAddress(clientAddress: ClientAddress): string | undefined {
  try {
    return resolveAddress(clientAddress);
  } catch {
    return undefined;
  }
}
