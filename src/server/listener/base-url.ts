/** Returns the base address of the service on a socket: `http://127.0.0.1:8080/v1`. */
export function baseAddress({ address, port }: { address: string; port: number }, basePath: string): string {
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}${basePath}`;
}

/**
 * Returns the address at which this machine can reach the service. A server can listen on all
 * addresses (0.0.0.0), but a client cannot connect to all addresses.
 */
export function localAddress(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** Returns whether only this machine can reach the address. */
export function isLoopback(address: string): boolean {
  return /^(?:(?:::ffff:)?127\.|::1$)/.test(address);
}
