/** Returns the base address of the service on a socket: `http://127.0.0.1:8080/v1`. */
export function baseAddress({ address, port }: { address: string; port: number }, basePath: string): string {
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}${basePath}`;
}

/**
 * Returns the address at which this machine can reach the service. A server can listen on "any
 * address", but a client cannot send to that address.
 */
export function localAddress(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** Reports whether only this machine can reach the address. */
export function isLoopback(address: string): boolean {
  return /^(?:(?:::ffff:)?127\.|::1$)/.test(address);
}
