import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import { checkFields, checkFunction, checkMethods } from '../../check.js';
import type { Principal } from '../admission.js';
import { after } from '../maybe-promise.js';
import type { FetchMountOptions } from '../mounts/fetch.js';
import { headOf, ipOf, toResponse } from '../mounts/fetch-conversion.js';
import { type NodeMountOptions, type NodeRequest, originalHead } from '../mounts/node.js';
import { isOver, send } from '../mounts/node-reply.js';
import { createFrameworkAddress } from '../mounts/warnings.js';
import { forEachField } from '../reply.js';
import type { Guard, GuardResult } from './guard.js';

const principals = new WeakMap<object, Principal>();

/** Returns the principal of a request that a {@link nodeGuard} has admitted. */
export function principalOf(request: NodeRequest): Principal | undefined {
  return principals.get(request);
}

/**
 * Creates a middleware for Express and Connect, or for use in a node:http listener. It calls `next`
 * for admitted requests and responds to all others.
 */
export function nodeGuard(
  guard: Guard,
  options: Pick<NodeMountOptions, 'clientAddress'> = {},
): (request: NodeRequest, response: ServerResponse | Http2ServerResponse, next: () => void) => void {
  checkMethods('guard', guard, ['admit']);
  checkFields('options', options, ['clientAddress']);
  const { clientAddress = createFrameworkAddress() } = options;
  checkFunction('clientAddress', clientAddress);
  return (request, response, next) => {
    function proceed(result: GuardResult): void {
      if (!result.admitted) {
        send(response, result.reply);
        return;
      }
      if (isOver(response)) return;
      const { principal, headers } = result;
      principals.set(request, principal);
      forEachField(headers, (name, value) => void response.setHeader(name, value));
      next();
    }
    const result = guard.admit(originalHead(request), () => clientAddress(request));
    after(result, proceed);
  };
}

/**
 * Wraps a handler that takes a Request and returns a Response. Calls the handler for admitted
 * requests and responds to all others.
 */
export function fetchGuard<Context extends unknown[] = unknown[]>(
  guard: Guard,
  handle: (request: Request, principal: Principal, ...context: Context) => Response | Promise<Response>,
  options: Pick<FetchMountOptions<Context>, 'clientAddress'> = {},
): (request: Request, ...context: Context) => Promise<Response> {
  checkMethods('guard', guard, ['admit']);
  checkFunction('handle', handle);
  checkFields('options', options, ['clientAddress']);
  const { clientAddress = ipOf } = options;
  checkFunction('clientAddress', clientAddress);
  return async (request, ...context) => {
    const result = await guard.admit(headOf(request), () => clientAddress(request, ...context));
    if (!result.admitted) return toResponse(result.reply);
    const response = await handle(request, result.principal, ...context);
    return withFields(response, result.headers);
  };
}

function withFields(response: Response, fields: readonly string[]): Response {
  // A response of status 101 (protocol switch) or 0 (network error) cannot be copied.
  if (response.status < 200) return response;
  // The response is copied, because the headers of a fetched response are immutable.
  const copy = new Response(response.body, response);
  forEachField(fields, (name, value) => copy.headers.set(name, value));
  return copy;
}
