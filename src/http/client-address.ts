import { isIPv4, isIPv6 } from 'node:net';
import { checkWholeNumber } from '../check.js';
import { HostFailure } from './host-part.js';

/**
 * The client's address, or a function that returns it. The function is called only if the address
 * is needed: to limit a request by it, or for the diagnostics channel.
 */
export type ClientAddress = string | undefined | (() => string | undefined);

/** The parts of a request that identify its client. */
export interface AddressedRequest {
  readonly socket?: { readonly remoteAddress?: string | undefined } | null | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The limiter's key for requests without an address. All clients of a unix socket share it. */
const NO_ADDRESS = 'local';

/** Returns the address of the connection's peer: the client, or the nearest proxy. */
export function socketAddress(request: AddressedRequest): string | undefined {
  return request.socket?.remoteAddress;
}

/**
 * Creates a function that returns the client's address behind `proxies` trusted proxies. Each proxy
 * appends the address of its peer to `X-Forwarded-For`, so the client's address is entry number
 * `proxies` from the right. The function reads the entries from the right. At a missing or invalid
 * entry, it stops and returns the last valid one, or the connection's peer if there is none. Throws
 * a TypeError or RangeError if `proxies` is not a whole number from 0 up.
 */
export function forwardedAddress(proxies: number): (request: AddressedRequest) => string | undefined {
  checkWholeNumber('proxies', proxies, 0);
  return (request) => {
    const entries = `${request.headers['x-forwarded-for'] ?? ''}`.split(',').reverse();
    let address = socketAddress(request);
    for (const entry of entries.slice(0, proxies)) {
      const hop = bareAddress(entry.trim());
      if (hop === undefined) break;
      address = hop;
    }
    return address;
  };
}

/** Calls the function that returns the address. Throws a {@link HostFailure} if it throws. */
export function resolveAddress(clientAddress: ClientAddress): string | undefined {
  try {
    return typeof clientAddress === 'function' ? clientAddress() : clientAddress;
  } catch (error) {
    throw new HostFailure('clientAddress failed', error);
  }
}

/**
 * The prefixes of IPv6 addresses that end with an IPv4 address: mapped (RFC 4291 §2.5.5.2), and as a
 * translator writes the address of an IPv4 client (RFC 6052 §2.1, and SIIT, RFC 2765 §2.1).
 */
const IPV4_PREFIXES = ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0', '0:0:0:0:ffff:0'];

/**
 * Returns the key under which an address is limited. An IPv4 address, even if it is written in IPv6,
 * is its own key. The key of any other IPv6 address is its /64 prefix, because one subscriber
 * has all addresses of that prefix. Invalid and missing addresses share one key.
 */
export function addressKey(address: string | undefined): string {
  const text = address === undefined ? undefined : bareAddress(address);
  if (text === undefined) return NO_ADDRESS;
  if (isIPv4(text)) return text;
  const groups = groupsOf(text);
  if (!IPV4_PREFIXES.includes(groups.slice(0, 6).join(':'))) return `${groups.slice(0, 4).join(':')}::/64`;
  const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

/** Returns the address without port, brackets and zone, or `undefined` if it is invalid. */
function bareAddress(text: string): string | undefined {
  const unbracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([^:]+):\d+$/.exec(text)?.[1] ?? text;
  const [address = ''] = unbracketed.split('%');
  return isIPv4(address) || isIPv6(address) ? address : undefined;
}

/** Returns the eight groups of a valid IPv6 address. */
function groupsOf(address: string): readonly string[] {
  // The URL parser leaves out leading zeros, and writes a part like `192.0.2.1` as two groups.
  const { hostname } = new URL(`http://[${address}]`);
  const [before = [], after = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros: string[] = Array(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after];
}
