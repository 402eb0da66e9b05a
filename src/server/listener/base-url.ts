/** The base address of the service on a socket: `http://127.0.0.1:8080/v1`. */
export function baseAddress({ address, port }: { address: string; port: number }, basePath: string): string {
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}${basePath}`;
}

/** The same as this machine itself reaches it: "any address" is one to listen on, and none to send to. */
export function localAddress(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** Whether only this machine can reach the address. */
export function isLoopback(address: string): boolean {
  return /^(?:(?:::ffff:)?127\.|::1$)/.test(address);
}
