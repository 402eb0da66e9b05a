import { STATUS_CODES } from 'node:http';
import { inspect } from 'node:util';
import { checkFields, checkWholeNumber } from '../check.js';
import type { ClientAddress } from '../http/client-address.js';
import type { OrderService } from '../http/index.js';
import { isPieces, type Reply } from '../http/reply.js';
import type { RequestHead } from '../http/request.js';
import type { OrderStore } from '../orders/index.js';

/**
 * A failure of one response.
 *
 * - `500` and `503`: the response of a service whose store fails. Nothing is cancelled.
 * - `'request_lost'`: the connection fails before the service has the request. Nothing is
 *   cancelled.
 * - `'response_lost'`: the connection fails after the request has been carried out.
 * - `'response_torn'`: as `'response_lost'`, but the client receives half of the body first. If the
 *   response has no body, the client receives nothing.
 * - `502`: a proxy responds in HTML, because it cannot reach the service. Nothing is cancelled.
 * - `504`: a proxy responds in HTML, because the service takes too long. The request has been carried
 *   out.
 * - `{ status, headers, body }`: the response of something before the service. Nothing is cancelled.
 * - `{ delayMs }`: a `setTimeout` delays the response by this many milliseconds.
 */
export type TestFault = (typeof NAMED_FAULTS)[number] | { readonly delayMs: number } | ForeignResponse;

const NAMED_FAULTS = [500, 502, 503, 504, 'request_lost', 'response_lost', 'response_torn'] as const;

/** A response that does not come from the service, such as that of a firewall. */
interface ForeignResponse {
  /** From 200 to 599, known or not. */
  readonly status: number;
  /** The header fields. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Default: none. */
  readonly body?: string | undefined;
}

/** A store that causes a 500, because it returns something that no store may return. */
const WRONG_STORE: OrderStore = { list: () => JSON.parse('null'), cancel: () => JSON.parse('""') };
const FAILING_STORE: OrderStore = { list: failStore, cancel: failStore };

function failStore(): never {
  throw new Error('the test asked for this failure');
}

export function checkFault(fault: TestFault): void {
  if (typeof fault === 'object' && fault !== null && 'delayMs' in fault) {
    if (Number.isInteger(fault.delayMs) && Number(fault.delayMs) >= 0) return;
    throw new TypeError('fault: expected delayMs in whole milliseconds from 0 up');
  }
  if (typeof fault === 'object' && fault !== null && 'status' in fault) {
    checkFields('fault', fault, ['headers', 'body'], ['status']);
    checkWholeNumber('fault.status', fault.status, 200, 599);
    return;
  }
  if (NAMED_FAULTS.some((name) => name === fault)) return;
  const names = NAMED_FAULTS.map((name) => inspect(name)).join(', ');
  throw new TypeError(`fault: expected ${names}, { delayMs } or { status, headers, body }`);
}

/** Returns the reply of something before the service, which knows no limits. */
function foreignReply({ status, headers = {}, body }: ForeignResponse): Reply {
  const content = body === undefined || status === 204 || status === 304 ? undefined : Buffer.from(body);
  const length = content && ['Content-Length', `${content.length}`];
  const fields = [...Object.entries(headers).flat(), ...(length ?? [])];
  return { status, headers: fields, body: content, chargedTo: undefined, keyId: undefined, isAddressOverLimit: false };
}

/** Returns the page of a proxy. */
function proxyReply(status: 502 | 504): Reply {
  const title = `${status} ${STATUS_CODES[status]}`;
  const body = `<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
  return foreignReply({ status, headers: { 'Content-Type': 'text/html' }, body });
}

/** The client that gets a faulty response, and the connection to it. */
interface Connection {
  readonly clientAddress: ClientAddress;
  /** Aborted when the client no longer waits. */
  readonly signal: AbortSignal;
}

/**
 * Creates a function that resolves to a faulty reply, or to `undefined` if the reply is lost.
 * `createService` returns a service like `service`, but with the given store.
 */
export function createFaultResponder(service: OrderService, createService: (store: OrderStore) => OrderService) {
  // Each fault has a service of its own, so that it is not the continuation of an earlier outage.
  const broken = { 500: () => createService(WRONG_STORE), 503: () => createService(FAILING_STORE) };
  return async (fault: TestFault, request: RequestHead, connection: Connection): Promise<Reply | undefined> => {
    const { clientAddress, signal } = connection;
    if (fault === 500 || fault === 503) return broken[fault]().respond(request, clientAddress);
    if (fault === 'request_lost') return undefined;
    if (fault === 502) return proxyReply(fault);
    if (typeof fault === 'object' && 'status' in fault) return foreignReply(fault);
    const pending = service.respond(request, clientAddress);
    // The delay begins at once, however long the service needs, so that fake timers can advance it.
    if (typeof fault === 'object') await delay(fault.delayMs, signal);
    const reply = await pending;
    if (fault === 504) return proxyReply(fault);
    if (fault === 'response_lost') return undefined;
    if (fault !== 'response_torn') return reply;
    return reply.body === undefined ? undefined : { ...reply, body: tearInHalf(reply.body) };
  };
}

/** Yields the first half of the body, then fails like a connection that breaks. */
async function* tearInHalf(body: Exclude<Reply['body'], undefined>): AsyncGenerator<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of isPieces(body) ? body : [body]) pieces.push(Buffer.from(piece));
  const bytes = Buffer.concat(pieces);
  yield bytes.subarray(0, bytes.length / 2);
  throw new TypeError('terminated');
}

/** Waits for `ms`, or until the signal is aborted. Uses the global timers, which a test may fake. */
function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      // The timer would keep the process running.
      clearTimeout(timer);
      resolve();
    });
  });
}
