/** Returns the base address of the service: `http://127.0.0.1:8080/v1`. */
export function baseAddress({ address, port }: { address: string; port: number }, basePath: string): string {
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}${basePath}`;
}

/** Replaces the address of all interfaces, such as 0.0.0.0, with one that a client can connect to. */
export function localAddress(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** Returns whether only this machine can reach the address. */
export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}
