import { Socket } from 'node:net';
import { type AddressedRequest, socketAddress } from '../client-address.js';
import type { RequestHead } from '../request.js';
import type { OrderService } from '../service/service.js';

/** Returns a function that emits a process warning when it is first called. */
function createWarning(): (text: string) => void {
  let hasWarned = false;
  return (text) => {
    if (hasWarned) return;
    hasWarned = true;
    process.emitWarning(text, 'StoreOrdersWarning');
  };
}

/**
 * Creates a function that warns once of a request with X-Forwarded-For, although no proxy is trusted.
 * `cure` says what to do.
 */
export function createForwardedWarning(cure: string): (request: RequestHead) => void {
  const warn = createWarning();
  return ({ rawHeaders }) => {
    // Not `headers`, because Node.js creates them only when they are first read.
    if (!rawHeaders.some((text) => text.length === 15 && text.toLowerCase() === 'x-forwarded-for')) return;
    warn(
      'A request has the field X-Forwarded-For, which is ignored because no proxy is trusted. If a proxy is in front of this ' +
        `server, all its clients share the limits of one address: ${cure}.`,
    );
  };
}

/**
 * Creates the default of `clientAddress`: `request.ip`, or else the peer's address. It warns once if
 * a proxy seems to be in front of the host, but is not trusted.
 */
export function createFrameworkAddress(): (request: AddressedRequest & RequestHead) => string | undefined {
  const warn = createForwardedWarning(
    'pass clientAddress: forwardedAddress(N), where N is the number of proxies, or set "trust proxy" of Express',
  );
  return (request) => {
    const peer = socketAddress(request);
    const address = 'ip' in request && typeof request.ip === 'string' ? request.ip : peer;
    // An emulation of node:http knows the address by itself.
    if (address === peer && request.socket instanceof Socket && !isTrusting(request)) warn(request);
    return address;
  };
}

/** Reports whether the setting `trust proxy` of Express is on. */
function isTrusting(request: object): boolean {
  const { app }: { readonly app?: unknown } = request;
  const { settings }: { readonly settings?: unknown } = Object(app);
  return Boolean(Reflect.get(Object(settings), 'trust proxy'));
}

/**
 * Creates a function that warns once if a request is passed to the host only because the service's
 * `basePath` lacks the prefix under which the host has mounted it. `target` is the whole target, and
 * `rest` is the target without the prefix.
 */
export function createPrefixWarning({ owns, basePath }: OrderService) {
  const warn = createWarning();
  return (target: string, rest: string): void => {
    if (target === rest || !target.endsWith(rest) || !owns(rest)) return;
    const prefix = target.slice(0, -rest.length);
    if (basePath.startsWith(prefix)) return;
    warn(
      `The service is mounted under "${prefix}", but its basePath is "${basePath}", so its requests are passed to the ` +
        `host. Create it with basePath: "${prefix}${basePath}".`,
    );
  };
}
